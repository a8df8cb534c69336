/**
 * Serves over TCP or a Unix socket, using stdio framing and one session per connection (spec: basic/transports, custom transports).
 *
 * If a connection breaks, only its own session ends. Connections are not authenticated, so bind to loopback, or to a socket file that only
 * its owner can open.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import { boundsOf } from "@effect-mcp/core/internal/inFlight"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as SocketServer from "effect/socket/SocketServer"
import * as Stream from "effect/Stream"
import { McpServer } from "../dispatch/Server.ts"
import { ArrivingBodies, type ArrivingBody } from "../internal/ArrivingBodies.ts"

export interface Options extends Duplex.Options {
  /**
   * How long in-flight requests may keep running after the client closes its side. Default 0. Requires a listener that allows half-open
   * connections (in Node: `allowHalfOpen`).
   */
  readonly grace?: Duration.Input | undefined
  /**
   * Maximum bytes of incomplete lines, across all connections of `serve`. Beyond it, the connection with the longest line is closed.
   * Default 128 MiB.
   */
  readonly lineBytes?: number | undefined
}

/** An incomplete line on a connection. */
interface Line extends ArrivingBody {
  readonly cut: Deferred.Deferred<never, TransportError>
}

const tooMuch = new TransportError({
  reason: "Read",
  message: "Too many bytes without a line break (lineBytes)"
})

/** Opens a transport on a live socket, within the scope. */
export const transport = Effect.fnUntraced(function* (
  socket: Socket.Socket,
  options: Duplex.Options = {},
  held?: (size: number) => void
): Effect.fn.Return<Transport, TransportError, Scope.Scope> {
  // The connection owns the reader, so that messages which are queued when the session closes are still written.
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
    options,
    held
  )
})

/** Counts the incomplete line on a connection. `cut` fails if the connection is closed in favor of others. */
const counted = (arriving: ArrivingBodies<Line>) =>
  Effect.gen(function* () {
    const cut = yield* Deferred.make<never, TransportError>()
    // The remote address is not known, so each connection counts as a caller.
    const line: Line = { caller: globalThis.crypto.randomUUID(), bytes: 0, cut }
    let before = 0
    yield* Effect.addFinalizer(() => Effect.sync(() => arriving.leave(line)))
    return {
      cut: Deferred.await(cut),
      held: (size: number): void => {
        if (size < before) {
          arriving.leave(line)
          line.bytes = 0
          before = 0
        }
        if (size === before) return
        if (before === 0) arriving.enter(line)
        arriving.received(line, size - before)
        before = size
      }
    }
  })

/** Accepts connections until interrupted. Fails if the listener fails. */
export const serve = (
  options: Options = {}
): Effect.Effect<never, SocketServer.SocketServerError, McpServer | SocketServer.SocketServer> =>
  Effect.gen(function* () {
    const server = yield* McpServer
    const listener = yield* SocketServer.SocketServer
    const arriving = new ArrivingBodies<Line>(Infinity, boundsOf(options.lineBytes ?? 128 * 1024 * 1024, 1), (line) => {
      arriving.leave(line)
      Deferred.doneUnsafe(line.cut, Effect.fail(tooMuch))
    })
    return yield* listener.run((socket) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { cut, held } = yield* counted(arriving)
          const connected = yield* transport(socket, options, held)
          const session = yield* server.connect(connected, { grace: options.grace, kind: "socket" })
          yield* Effect.raceFirst(session.peer.awaitClosed, cut)
        })
      ).pipe(Effect.ignore)
    )
  })
