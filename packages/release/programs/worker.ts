/** The server of one tool on Workers, where no session outlives a request. */
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({ name: "calculator", version: "1.0.0", features: add })

const { handler } = McpServer.toWebHandler(server, { path: "/mcp", sessions: false })

export default { fetch: handler }
