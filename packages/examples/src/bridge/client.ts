/** Calls the tools of `server.ts`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Console, Effect, Layer, Stream } from "effect"
import { fileURLToPath } from "node:url"

const notes = McpClient.layerStdio({
  command: process.execPath,
  args: [fileURLToPath(new URL("server.ts", import.meta.url))]
})

const program = Effect.gen(function* () {
  const client = yield* McpClient.McpClient
  const tools = yield* Stream.runCollect(client.listTools)
  yield* Console.log(tools.map(({ name }) => name).join(", "))
  const { structuredContent } = yield* client.callToolByName("notes_read", {
    id: 1
  })
  yield* Console.log(structuredContent)
  const { isError, content } = yield* client.callToolByName("notes_read", {
    id: 7
  })
  yield* Console.log(isError, content)
})

program.pipe(
  Effect.provide(Layer.provide(notes, NodeServices.layer)),
  NodeRuntime.runMain
)
