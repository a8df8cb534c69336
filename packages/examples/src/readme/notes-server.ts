import { Extensions } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"
import { Notes } from "./notes.ts"

export const notes = Extensions.layer(Notes, {
  requests: {
    find: ({ text }) =>
      Effect.gen(function* () {
        const { id } = yield* Extensions.ask(Notes.questions.pick, {
          ids: [text.length, 7]
        })
        yield* Extensions.notify(Notes.notifications.added, { id })
        return { ids: [id] }
      })
  }
})

export const server = McpServer.layer({
  name: "notes",
  version: "1.0.0",
  features: notes
})
