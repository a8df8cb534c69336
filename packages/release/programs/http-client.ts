/** The README's client over HTTP: it differs from that over stdio by its layer. */
import { McpClient } from "@effect-mcp/client"
import { Tool } from "@effect-mcp/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

const calculator = McpClient.layerFetch({ url: process.env.MCP_URL ?? "http://127.0.0.1:3000/mcp" })

const program = Effect.gen(function* () {
  const client = yield* McpClient.McpClient
  const { sum } = yield* client.callTool(Add, { a: 1, b: 2 })
  yield* Console.log(`1 + 2 = ${sum}, over MCP ${client.revision.version}`)
})

await Effect.runPromise(Effect.provide(program, calculator))
