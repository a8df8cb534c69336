/** Two servers at once: their tools in one list, and typed calls to each. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import * as McpClients from "@effect-mcp/client/McpClients"
import { Console, Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import { Add } from "./calculator.ts"

const node = (file: string) =>
  McpClients.stdio({
    command: process.execPath,
    args: [fileURLToPath(new URL(file, import.meta.url))]
  })

const table = {
  calculator: node("calculator-server.ts"),
  weather: node("ai/server.ts")
}

// How long a list waits for a server, because a busy machine starts it slowly.
class Servers extends McpClients.Service<Servers>()("example/Servers", table, {
  patience: "1 minute"
}) {}

const program = Effect.gen(function* () {
  const servers = yield* Servers
  const tools = yield* servers.listTools
  yield* Console.log(tools.map(({ name }) => name).join(", "))
  const { sum } = yield* servers.of("calculator").callTool(Add, { a: 1, b: 2 })
  const { structuredContent } = yield* servers.callToolByName(
    "weather_forecast",
    { city: "Rome" }
  )
  yield* Console.log(sum, structuredContent)
})

program.pipe(
  Effect.provide(Layer.provide(Servers.layer, NodeServices.layer)),
  NodeRuntime.runMain
)
