/**
 * Transport for a server listening on a TCP or Unix socket. Sends newline-delimited JSON, like stdio (spec: basic/transports, custom
 * transports).
 *
 * Keeps one connection open until the scope closes, and flushes queued messages before shutting down its side. The session ends when either
 * side closes.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Framing from "@effect-mcp/core/Framing"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as Stream from "effect/Stream"

export type Options = Duplex.Options
export type Requirements = Socket.Socket

const transportError = (error: Socket.SocketError): TransportError => {
  const tag = error.reason._tag
  const reason = tag === "SocketOpenError" ? "Open" : tag === "SocketWriteError" ? "Write" : "Read"
  return new TransportError({ reason, message: error.message, cause: error })
}

const isEnd = ({ reason }: Socket.SocketError): boolean => reason._tag === "SocketCloseError" && reason.code === 1000

/**
 * Opens a socket transport that closes with the scope. Fails with a `TransportError` of reason `Open` if the connection is refused.
 *
 * @example
 * ```ts
 * import { McpClient, Socket } from "@effect-mcp/client"
 * import { NodeSocket } from "@effect/platform-node"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const socket = yield* NodeSocket.makeNet({ path: "/tmp/mcp.sock" })
 *   const client = yield* McpClient.connect(yield* Socket.open(socket))
 *   return client.serverInfo
 * })
 * ```
 */
export const open = Effect.fnUntraced(function* (
  socket: Socket.Socket,
  options: Options = {}
): Effect.fn.Return<Transport, TransportError, Scope.Scope> {
  const read = yield* Effect.mapError(Socket.readerBytes(socket), transportError)
  const writer = yield* socket.writer
  const pull = Effect.catch(read, (error): Effect.Effect<never, TransportError | Cause.Done> =>
    isEnd(error) ? Cause.done() : Effect.fail(transportError(error))
  )
  return yield* Duplex.make(
    {
      incoming: Stream.fromPull(Effect.succeed(pull)),
      write: (outgoing) => Effect.mapError(Stream.runForEach(outgoing, writer.write), transportError)
    },
    { ...options, maxMessageBytes: options?.maxMessageBytes ?? Framing.defaultMaxAnswerBytes }
  )
})

/** Opens a transport over the `Socket` in the context. */
export const connector = (options?: Options): Effect.Effect<Transport, TransportError, Scope.Scope | Socket.Socket> =>
  Effect.flatMap(Socket.Socket, (socket) => open(socket, options))
