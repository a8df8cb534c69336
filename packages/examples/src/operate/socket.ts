import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Tool, Tools } from "@effect-mcp/core"
import { Admin } from "@effect-mcp/operate"
import * as PrivateSocket from "@effect-mcp/operate/PrivateSocket"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"

const Hello = Tool.make("hello", { description: "Greets the user" })
const features = Tools.layer(Hello, () => Effect.succeed("Hello"))

const admin = McpServer.serveHttp(Admin.layerSocket()).pipe(
  Layer.provide(
    NodeHttpServer.layer(PrivateSocket.createServer, {
      path: "/tmp/hello-admin.sock"
    })
  )
)

const server = McpServer.layer({ name: "hello", version: "1.0.0", features })

McpServer.runStdio(Layer.provideMerge(admin, server)).pipe(NodeRuntime.runMain)
