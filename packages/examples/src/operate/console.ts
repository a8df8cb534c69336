import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Tool, Tools } from "@effect-mcp/core"
import { Admin, Telemetry } from "@effect-mcp/operate"
import * as Console from "@effect-mcp/operate/console"
import { McpServer } from "@effect-mcp/server"
import { Config, Effect, Layer } from "effect"
import { createServer } from "node:http"

const Hello = Tool.make("hello", { description: "Greets the user" })
const hello = Tools.layer(Hello, () => Effect.succeed("Hello"))

// The server records ended requests in this history, and the page shows them.
const history = Admin.layerHistory()
const server = McpServer.layer({
  name: "hello",
  version: "1.0.0",
  features: hello
}).pipe(Layer.provide([history, Telemetry.layer()]))

// On a separate loopback listener: http://127.0.0.1:9464/console
const page = Layer.unwrap(
  Effect.map(Config.Redacted("ADMIN_TOKEN"), (token) =>
    Console.layer({ token })
  )
)
const operator = McpServer.serveHttp(page).pipe(
  Layer.provide([
    history,
    NodeHttpServer.layer(createServer, { port: 9464, host: "127.0.0.1" })
  ])
)

const clients = McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" })).pipe(
  Layer.provide(
    NodeHttpServer.layer(createServer, { port: 3000, host: "127.0.0.1" })
  )
)

Layer.merge(operator, clients).pipe(
  Layer.provide(server),
  Layer.launch,
  NodeRuntime.runMain
)
