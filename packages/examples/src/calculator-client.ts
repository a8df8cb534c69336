import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Console, Effect, Layer } from "effect"
import { Add } from "./calculator.ts"

const calculator = McpClient.layerStdio({
  command: "node",
  args: [import.meta.filename.replace("calculator-client", "calculator-server")]
})

const program = Effect.gen(function* () {
  const client = yield* McpClient.McpClient
  const { sum } = yield* client.callTool(Add, { a: 1, b: 2 })
  yield* Console.log(`1 + 2 = ${sum}, over MCP ${client.revision.version}`)
})

program.pipe(
  Effect.provide(Layer.provide(calculator, NodeServices.layer)),
  NodeRuntime.runMain
)
