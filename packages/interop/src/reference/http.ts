/** The reference server over Streamable HTTP on loopback. A separate module, so that a stdio server does not load HTTP. */
import { NodeHttpServer } from "@effect/platform-node"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Console, Effect, Layer } from "effect"
import * as HttpServer from "effect/http/HttpServer"
import { createServer } from "node:http"

/** Prints the server's address on stderr. */
export const announce = (path: string) =>
  Layer.effectDiscard(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
      address._tag === "UnixPathAddress" ? Effect.void : Console.error(`http://127.0.0.1:${address.port}${path}`)
    )
  )

/** Serves at `/mcp` and prints the address on stderr. Port 0 picks any free port. */
export const layer = (server: Layer.Layer<McpServer.McpServer>, port: number) =>
  announce("/mcp").pipe(
    Layer.provideMerge(
      McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provide(server),
    Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1", gracefulShutdownTimeout: "1 second" }))
  )
