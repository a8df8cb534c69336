/**
 * The workspace over HTTP on loopback: Streamable HTTP at `/mcp`, HTTP with SSE at `/sse` for older clients, or both at the same time.
 * A separate module, so that a stdio server does not load HTTP.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"

export interface Options {
  /** Port to listen on. 0 picks any free port. */
  readonly port: number
  readonly http: boolean
  readonly sse: boolean
}

/** Serves until interrupted, and prints the address on stderr. */
export const serve = <E, R>(
  server: Layer.Layer<McpServer.McpServer, E, R>,
  { http, port, sse }: Options
) => {
  const streamable = http ? McpServer.layerHttp({ path: "/mcp" }) : Layer.empty
  const older = sse ? McpServer.layerSse({ path: "/sse" }) : Layer.empty
  const announce = Layer.effectDiscard(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) => {
      const place =
        address._tag === "UnixPathAddress"
          ? address.path
          : `http://127.0.0.1:${address.port}`
      const paths = [...(http ? ["/mcp"] : []), ...(sse ? ["/sse"] : [])]
      return Effect.forEach(paths, (path) => Console.error(`${place}${path}`), {
        discard: true
      })
    })
  )
  return announce.pipe(
    Layer.provideMerge(
      McpServer.serveHttp(Layer.mergeAll(streamable, older), {
        disableLogger: true,
        disableListenLog: true
      })
    ),
    Layer.provide(server),
    Layer.provide(
      NodeHttpServer.layer(createServer, {
        port,
        host: "127.0.0.1",
        gracefulShutdownTimeout: "1 second"
      })
    ),
    Layer.launch
  )
}
