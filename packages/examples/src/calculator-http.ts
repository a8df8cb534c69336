import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import { Add } from "./calculator.ts"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({
  name: "calculator",
  version: "1.0.0",
  features: add
})

McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" })).pipe(
  Layer.provide(
    NodeHttpServer.layer(createServer, {
      port: Number(process.env.PORT ?? 3000),
      host: "127.0.0.1"
    })
  ),
  Layer.provide(server),
  Layer.launch,
  NodeRuntime.runMain
)
