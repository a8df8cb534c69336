/** A server of one tool over stdio, as small as its bundle can be: Effect's modules are imported one by one. */
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({ name: "calculator", version: "1.0.0", features: add })

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
