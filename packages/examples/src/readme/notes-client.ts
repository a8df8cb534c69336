import { ClientExtension, McpClient } from "@effect-mcp/client"
import { Console, Effect, Layer } from "effect"
import { Notes } from "./notes.ts"

const notes = ClientExtension.layer(Notes, {
  questions: { pick: ({ ids }) => Effect.succeed({ id: ids[0] ?? 0 }) },
  notifications: { added: ({ id }) => Console.log(`note ${id} is new`) }
})

export const client = McpClient.layerStdio({ command: "notes-server" }).pipe(
  Layer.provide(notes)
)

export const program = Effect.gen(function* () {
  const { request } = yield* McpClient.McpClient
  const { ids } = yield* request(Notes.requests.find, { text: "milk" })
  yield* Console.log(`found ${ids.length}`)
})
