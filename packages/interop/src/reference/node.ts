/** The reference server over Streamable HTTP on loopback, directly on `node:http` without a router. A separate module, like `http`. */
import { McpServer } from "@effect-mcp/server"
import { Console, Effect, Layer, type Scope } from "effect"
import { createServer, type RequestListener, type Server } from "node:http"

const listen = (http: Server, port: number) =>
  Effect.callback<number>((resume) => {
    http.on("error", (error) => resume(Effect.die(error)))
    http.listen(port, "127.0.0.1", () => {
      const address = http.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** Closes the server. Clients that read slowly get one second. */
const close = (http: Server) =>
  Effect.callback<void>((resume) => void http.close(() => resume(Effect.void))).pipe(
    Effect.timeoutOption("1 second"),
    Effect.andThen(Effect.sync(() => http.closeAllConnections()))
  )

/** Serves on loopback until the scope closes. Returns the port. `host` wraps the listener. */
export const serve = Effect.fnUntraced(function* <E>(
  server: Layer.Layer<McpServer.McpServer, E>,
  options: Parameters<typeof McpServer.toNodeListener>[1],
  port = 0,
  host: (listener: RequestListener) => RequestListener = (listener) => listener
): Effect.fn.Return<number, never, Scope.Scope> {
  const { dispose, listener } = McpServer.toNodeListener(server, options)
  const http = createServer(host(listener))
  yield* Effect.addFinalizer(() => close(http))
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  return yield* listen(http, port)
})

/** Serves at `/mcp` and prints the address on stderr. Port 0 picks any free port. */
export const layer = (server: Layer.Layer<McpServer.McpServer>, port: number) =>
  Layer.effectDiscard(
    Effect.flatMap(serve(server, { path: "/mcp" }, port), (port) => Console.error(`http://127.0.0.1:${port}/mcp`))
  )
