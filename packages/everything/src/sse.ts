/**
 * The reference server over HTTP with server-sent events, on loopback: for clients of 2024-11-05. A module of its own, as `http` is.
 */
import { NodeHttpServer } from "@effect/platform-node"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Layer } from "effect"
import { createServer } from "node:http"
import { announce } from "./http.ts"

/** Serves at `/sse` and says on stderr where that is. Port 0 is any that is free. */
export const layer = (server: Layer.Layer<McpServer.McpServer>, port: number) =>
  announce("/sse").pipe(
    Layer.provideMerge(
      McpServer.serveHttp(McpServer.layerSse({ path: "/sse" }), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provide(server),
    Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1", gracefulShutdownTimeout: "1 second" }))
  )
