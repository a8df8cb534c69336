/**
 * Serves over TCP or a Unix socket: the framing of stdio, one session per connection (spec: basic/transports, custom transports).
 *
 * A connection that breaks ends its own session only. There is no authentication here: bind to loopback or to a file that only its
 * owner can open.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as SocketServer from "effect/socket/SocketServer"
import * as Stream from "effect/Stream"
import { McpServer } from "../dispatch/Server.ts"

export interface Options extends Duplex.Options {
  /**
   * How long requests in flight may still run when the client closes its side. Default 0. It needs a listener that keeps half-open
   * connections (Node: `allowHalfOpen`).
   */
  readonly grace?: Duration.Input | undefined
}

/** One live socket as a transport, in the scope. */
export const transport = Effect.fnUntraced(function* (
  socket: Socket.Socket,
  options: Duplex.Options = {}
): Effect.fn.Return<Transport, TransportError, Scope.Scope> {
  // Held by the connection, not by its reader: messages that are queued when the conversation closes are still written.
  const pull = yield* Effect.mapError(
    Socket.readerBytes(socket),
    (cause) => new TransportError({ reason: "Open", message: cause.message, cause })
  )
  const writer = yield* socket.writer
  return yield* Duplex.make(
    {
      incoming: Stream.catch(Stream.fromPull(Effect.succeed(pull)), (error) =>
        error.reason._tag === "SocketCloseError"
          ? Stream.empty
          : Stream.fail(new TransportError({ reason: "Read", message: error.message, cause: error }))
      ),
      write: Stream.runForEach((text) =>
        Effect.mapError(
          writer.write(text),
          (error) => new TransportError({ reason: "Write", message: error.message, cause: error })
        )
      )
    },
    options
  )
})

/** Accepts connections until interrupted. Fails when the listener does. */
export const serve = (
  options: Options = {}
): Effect.Effect<never, SocketServer.SocketServerError, McpServer | SocketServer.SocketServer> =>
  Effect.gen(function* () {
    const server = yield* McpServer
    const listener = yield* SocketServer.SocketServer
    return yield* listener.run((socket) =>
      Effect.scoped(
        Effect.gen(function* () {
          const session = yield* server.connect(yield* transport(socket, options), {
            grace: options.grace,
            kind: "socket"
          })
          yield* session.peer.awaitClosed
        })
      ).pipe(Effect.ignore)
    )
  })
