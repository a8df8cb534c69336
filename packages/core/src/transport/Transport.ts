/**
 * A duplex transport: a Stream of incoming messages and a Sink for outgoing messages. Its Scope is the connection.
 *
 * Defines the types all endpoints and connectors share. Methods are handled by a peer, not here.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Stream from "effect/Stream"
import * as Incoming from "./Incoming.ts"
import type { Principal } from "./Principal.ts"

/**
 * Describes why a transport, or the exchange for a single request, failed. `exitCode` and `stderr` (the last lines) are set if the peer was
 * a child process. `status` is set if an HTTP response had an unexpected status (`Status`) or said that the session no longer exists
 * (`SessionLost`).
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  readonly reason: "Read" | "Write" | "Overflow" | "Open" | "Exited" | "KeepAlive" | "Status" | "SessionLost"
  readonly message: string
  readonly status?: number | undefined
  readonly exitCode?: number | undefined
  readonly stderr?: string | undefined
  readonly cause?: unknown
}> {}

/** Metadata that arrived with a message. HTTP sets all of it, stdio sets nothing. */
export interface Envelope {
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly principal?: Principal["Service"] | undefined
  /** HTTP method, in upper case. Only on a server. */
  readonly method?: string | undefined
  /** Path and query, or the full URL if the request has no `host` header. HTTP only, on a server. */
  readonly originalUrl?: string | undefined
  /** Address of the peer, or of the proxy in front of it. HTTP only. */
  readonly address?: string | undefined
  /** ID of the receiver's own request if the message arrived on its response stream. HTTP only. */
  readonly relatedTo?: JsonRpc.Id | undefined
}

/** A message together with its metadata. */
export interface ReceivedMessage {
  readonly _tag: "Message"
  readonly message: JsonRpc.Message
  readonly envelope: Envelope
  /**
   * Where to send the response and everything else related to this request, such as the response to a POST. Default: the transport's
   * `sink`. Ignored in a batch, whose responses are sent together.
   */
  readonly replyTo?: Sink | undefined
}

/** Describes input that is not a message. */
export interface InvalidMessage {
  readonly _tag: "InvalidMessage"
  readonly error: McpError
  /** ID of the request or response, if it could be read. */
  readonly id: JsonRpc.Id | undefined
  /** True if the input was meant to be a response. It then fails the matching request, and no error is sent back. */
  readonly response: boolean
  /** The first characters of the input, for error reports. */
  readonly text?: string | undefined
}

/** A message, or the error for an invalid message. */
export type Single = ReceivedMessage | InvalidMessage

/**
 * A request sent by this peer that will never receive a response, because its HTTP exchange is over. The transport itself is still open.
 */
export interface RequestAborted {
  readonly _tag: "RequestAborted"
  readonly id: JsonRpc.Id
  readonly error: TransportError
  /** True if the peer definitely hasn't acted on the request, so it is safe to send again. */
  readonly unsent: boolean
}

/** Result of decoding a text: a single message or a batch. */
export type Decoded = Single | { readonly _tag: "Batch"; readonly members: ReadonlyArray<Single> }

/** Anything a transport can receive. */
export type Inbound = Decoded | RequestAborted

/**
 * `control` is for responses, cancellations and pings. It never waits; exceeding its separate limit closes the transport with an error.
 * `data` is for all other messages, whose senders wait for `ready` first.
 */
export type Lane = "control" | "data"

/** Request headers, for transports that have headers. */
export type RequestHeaders = { readonly [name: string]: string }

/** Sends messages. `send` never waits and preserves the order of calls. After the transport has closed, it does nothing. */
export interface Sink {
  readonly send: (
    message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>,
    lane: Lane,
    relatedTo?: JsonRpc.Id,
    headers?: RequestHeaders
  ) => void
  /** Called if this request will never be answered, so that its batch or POST doesn't wait for a response. */
  readonly noAnswer?: ((relatedTo: JsonRpc.Id) => void) | undefined
  /** Closes the response stream if the client can resume it. The client is first told to wait `retry` before reconnecting. */
  readonly closeStream?: ((retry?: Duration.Input) => void) | undefined
  /** True if the data lane is below its high-water mark. */
  readonly writable: () => boolean
  /** Waits until the data lane is below its high-water mark or the transport has closed. */
  readonly ready: Effect.Effect<void>
  /**
   * Like `ready`, but never waits for a client that isn't reading. Messages sent in the meantime are kept up to a limit or dropped.
   * Default: `ready`.
   */
  readonly room?: Effect.Effect<void> | undefined
  /** True if the peer is currently reading. Over HTTP, only while it has the stream open. Default: always true. */
  readonly isRead?: (() => boolean) | undefined
  /** Completes when the peer stops reading. Default: never. */
  readonly left?: Effect.Effect<void> | undefined
  /** Number of bytes waiting to be written, for monitoring. Default: unknown. */
  readonly backlog?: (() => number) | undefined
  /** Number of sent bytes that the event store hasn't stored yet, for monitoring. Default: there is no event store. */
  readonly unkept?: (() => number) | undefined
}

/** Bytes transferred since the transport opened. `sent` counts message characters, which equals bytes for ASCII. */
export interface Traffic {
  readonly received: number
  readonly sent: number
}

/** A connection. Use `Transport.map`, `filter` and `tap` to transform incoming messages. */
export interface Transport extends Incoming.Incoming<Inbound, TransportError> {
  /** Incoming messages. Ends when the peer closes the connection; fails when the transport does. Can only be run once. */
  readonly incoming: Stream.Stream<Inbound, TransportError>
  /** Push-based alternative to `incoming`, for transports with callbacks (`fromCallback`). Default: messages are pulled from `incoming`. */
  readonly delivery?: Incoming.Delivery<Inbound, TransportError> | undefined
  readonly sink: Sink
  /** Fails when the transport can no longer write (broken pipe, overflow). Never completes if the transport closes normally. */
  readonly broken: Effect.Effect<never, TransportError>
  /** Emits when notifications may have been lost although the connection is still open. Default: never. */
  readonly missed?: Stream.Stream<void> | undefined
  /** True if requests have headers, as over HTTP. 2026-07-28 requires headers there. Default false. */
  readonly headers?: boolean | undefined
  /** Bytes transferred so far. Default: unknown. */
  readonly traffic?: Traffic | undefined
  /** Address of the peer, for messages: a URL without its query, or a command line. Contains no control characters. */
  readonly address?: string | undefined
  /** The server's era as seen on an earlier transport. Set it to keep a client from probing for the newer era again. */
  readonly era?: "stateful" | undefined
}

/**
 * Creates `incoming` and `delivery` for a custom transport with callbacks. Both deliver the same items. `run` calls `receive` for each item
 * until the effect ends or is interrupted. If `receive` throws, the effect must end with that defect.
 *
 * @example
 * ```ts
 * import * as Framing from "@effect-mcp/core/Framing"
 * import * as Transport from "@effect-mcp/core/Transport"
 * import { Effect } from "effect"
 *
 * const broken = Effect.fail(new Transport.TransportError({ reason: "Read", message: "The socket broke" }))
 *
 * const incomingOf = (socket: WebSocket) =>
 *   Transport.fromCallback((receive) =>
 *     Effect.callback<void, Transport.TransportError>((resume) => {
 *       socket.onmessage = ({ data }) => {
 *         try {
 *           receive(Framing.decode(String(data)))
 *         } catch (defect) {
 *           resume(Effect.die(defect))
 *         }
 *       }
 *       socket.onclose = () => resume(Effect.void)
 *       socket.onerror = () => resume(broken)
 *     })
 *   )
 * ```
 */
export const fromCallback: (
  run: Incoming.Delivery<Inbound, TransportError>["run"]
) => Required<Incoming.Incoming<Inbound, TransportError>> = Incoming.fromCallback

/** Replaces a transport's source. Lists the fields explicitly, because a spread would lose a class's getters. */
const withIncoming = (
  { address, broken, era, headers, missed, sink, traffic }: Transport,
  { delivery, incoming }: Incoming.Incoming<Inbound, TransportError>
): { readonly [Member in keyof Required<Transport>]: Transport[Member] } => ({
  incoming,
  delivery,
  sink,
  broken,
  missed,
  headers,
  traffic,
  address,
  era
})

/**
 * Transforms each incoming message. The result only has the standard fields of a transport. Replacing `incoming` with a mapped Stream has
 * the same effect, but without the push-based path.
 */
export const map: {
  (f: (inbound: Inbound) => Inbound): (self: Transport) => Transport
  (self: Transport, f: (inbound: Inbound) => Inbound): Transport
} = dual(2, (self: Transport, f: (inbound: Inbound) => Inbound): Transport => withIncoming(self, Incoming.map(self, f)))

/** Drops messages that don't satisfy the predicate, as if they had never arrived. A dropped request receives no response. */
export const filter: {
  (predicate: (inbound: Inbound) => boolean): (self: Transport) => Transport
  (self: Transport, predicate: (inbound: Inbound) => boolean): Transport
} = dual(2, (self: Transport, predicate: (inbound: Inbound) => boolean): Transport =>
  withIncoming(self, Incoming.filter(self, predicate))
)

/**
 * Calls `f` with each incoming message before it is handled. `f` must not block, because it runs while messages are being read. If it
 * throws, the connection ends with a defect.
 *
 * @example
 * ```ts
 * import * as Transport from "@effect-mcp/core/Transport"
 *
 * const counted = (transport: Transport.Transport) => {
 *   let messages = 0
 *   return { transport: Transport.tap(transport, () => void messages++), messages: () => messages }
 * }
 * ```
 */
export const tap: {
  (f: (inbound: Inbound) => void): (self: Transport) => Transport
  (self: Transport, f: (inbound: Inbound) => void): Transport
} = dual(2, (self: Transport, f: (inbound: Inbound) => void): Transport =>
  map(self, (inbound) => {
    f(inbound)
    return inbound
  })
)
