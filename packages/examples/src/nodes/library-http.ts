/**
 * One node of the library as a service: it listens at PORT with its health, and
 * stops in order at SIGTERM.
 */
import { Health } from "@effect-mcp/operate"
import { McpServer } from "@effect-mcp/server"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Layer } from "effect"
import { createServer } from "node:http"
import { library } from "./library.ts"

const endpoint = McpServer.layerHttp({
  path: "/mcp",
  allowedHosts: ["mcp.example.com"],
  lameDuck: "5 seconds",
  drain: "10 seconds"
})

McpServer.serveHttp(Layer.merge(endpoint, Health.layerRoutes())).pipe(
  Layer.provide(
    NodeHttpServer.layer(createServer, {
      port: Number(process.env["PORT"] ?? 3001)
    })
  ),
  Layer.provide(Layer.provideMerge(library("public"), Health.layer())),
  Layer.launch,
  NodeRuntime.runMain({ teardown: McpServer.teardown })
)
