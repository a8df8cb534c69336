import { Nodes } from "@effect-mcp/nodes"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { createServer } from "node:http"

const Hello = Tool.make("hello", { description: "Greets the user" })
const features = Tools.layer(Hello, () =>
  Effect.succeed(`Hello from ${process.pid}`)
)

const database = PgClient.layer({
  url: Redacted.make("postgres://localhost/mcp")
})
const nodes = Layer.provide(Nodes.layerPostgres(), database)

const server = McpServer.layer({
  name: "hello",
  version: "1.0.0",
  features
}).pipe(Layer.provide(nodes))

/** The same program on each node. */
export const listen = (port: number) => {
  const { close, listener } = McpServer.toNodeListener(server, { path: "/mcp" })
  const http = createServer(listener).listen(port)
  process.once("SIGTERM", () => close(http))
}
