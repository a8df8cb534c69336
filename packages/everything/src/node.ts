/**
 * The reference server over Streamable HTTP straight on `node:http`, without a router, on loopback. A module of its own, as `http` is.
 */
import { McpServer } from "@effect-mcp/server"
import { Console, Effect, Layer } from "effect"
import { createServer, type Server } from "node:http"

const listen = (http: Server, port: number) =>
  Effect.callback<number>((resume) => {
    http.on("error", (error) => resume(Effect.die(error)))
    http.listen(port, "127.0.0.1", () => {
      const address = http.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** Waits a second for those who are slow to read. */
const close = (http: Server) =>
  Effect.callback<void>((resume) => void http.close(() => resume(Effect.void))).pipe(
    Effect.timeoutOption("1 second"),
    Effect.andThen(Effect.sync(() => http.closeAllConnections()))
  )

/** Serves at `/mcp` and says on stderr where that is. Port 0 is any that is free. */
export const layer = (server: Layer.Layer<McpServer.McpServer>, port: number) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { dispose, listener } = McpServer.toNodeListener(server, { path: "/mcp" })
      const http = createServer(listener)
      yield* Effect.addFinalizer(() => close(http))
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      yield* Console.error(`http://127.0.0.1:${yield* listen(http, port)}/mcp`)
    })
  )
