/** The reference server over HTTP with server-sent events, on loopback, for clients of 2024-11-05. A separate module, like `http`. */
import { NodeHttpServer } from "@effect/platform-node"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Layer } from "effect"
import { createServer } from "node:http"
import { announce } from "./http.ts"

/** Serves at `/sse` and prints the address on stderr. Port 0 picks any free port. */
export const layer = (server: Layer.Layer<McpServer.McpServer>, port: number) =>
  announce("/sse").pipe(
    Layer.provideMerge(
      McpServer.serveHttp(McpServer.layerSse({ path: "/sse" }), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provide(server),
    Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1", gracefulShutdownTimeout: "1 second" }))
  )
