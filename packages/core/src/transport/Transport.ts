/**
 * A duplex transport: a Stream of what arrives and a Sink for what leaves. Its Scope is the connection.
 *
 * Owns the types of all endpoints and connectors. Refuses methods: they are for the handlers of a peer.
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
 * Why a transport, or the exchange of one request, broke. `exitCode` and `stderr` (its last lines) where the other side was a child
 * process; `status` where an HTTP response was no answer (`Status`), or said that the session is gone (`SessionLost`).
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  readonly reason: "Read" | "Write" | "Overflow" | "Open" | "Exited" | "KeepAlive" | "Status" | "SessionLost"
  readonly message: string
  readonly status?: number | undefined
  readonly exitCode?: number | undefined
  readonly stderr?: string | undefined
  readonly cause?: unknown
}> {}

/** What arrived with a message beside its text: HTTP has all of it, stdio none. */
export interface Envelope {
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly principal?: Principal["Service"] | undefined
  /** In upper case (HTTP, on the server). */
  readonly method?: string | undefined
  /** The path and query; the whole URL where the request has no `host` header (HTTP, on the server). */
  readonly originalUrl?: string | undefined
  /** The address of the other side, or of the proxy before it (HTTP). */
  readonly address?: string | undefined
  /** The receiver's own request on whose response the message arrived (HTTP). */
  readonly relatedTo?: JsonRpc.Id | undefined
}

/** A message, with what arrived beside its text. */
export interface ReceivedMessage {
  readonly _tag: "Message"
  readonly message: JsonRpc.Message
  readonly envelope: Envelope
  /**
   * Where the answer leaves, and what else relates to the request: the response of a POST. Default the transport's `sink`.
   * Without effect in a batch, whose answers leave together.
   */
  readonly replyTo?: Sink | undefined
}

/** The error about a text that is no message. */
export interface InvalidMessage {
  readonly _tag: "InvalidMessage"
  readonly error: McpError
  /** The id of the request or response, where it could be read. */
  readonly id: JsonRpc.Id | undefined
  /** Whether it was meant as a response: then it fails the request that it answers, and is not answered. */
  readonly response: boolean
  /** Its first characters, for reports. */
  readonly text?: string | undefined
}

/** One message, or the error about an invalid one. */
export type Single = ReceivedMessage | InvalidMessage

/** A request that this side sent will not be answered, though the transport lives: its HTTP exchange is over. */
export interface RequestAborted {
  readonly _tag: "RequestAborted"
  readonly id: JsonRpc.Id
  readonly error: TransportError
  /** Whether the other side has certainly not acted on it, so that sending it again is safe. */
  readonly unsent: boolean
}

/** What a text decodes to: one message, or a batch. */
export type Decoded = Single | { readonly _tag: "Batch"; readonly members: ReadonlyArray<Single> }

/** What arrives. */
export type Inbound = Decoded | RequestAborted

/**
 * `control`: responses, cancellations, pings. It never waits and has a cap of its own; more than the cap breaks the transport.
 * `data`: all other messages; senders wait for `ready` first.
 */
export type Lane = "control" | "data"

/** Headers of a request, where the transport has headers. */
export type RequestHeaders = { readonly [name: string]: string }

/** Where messages leave. `send` never waits and keeps the order of its calls; once the transport has closed it does nothing. */
export interface Sink {
  readonly send: (
    message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>,
    lane: Lane,
    relatedTo?: JsonRpc.Id,
    headers?: RequestHeaders
  ) => void
  /** Called when that request will not be answered: its batch or its POST does not wait for an answer. */
  readonly noAnswer?: ((relatedTo: JsonRpc.Id) => void) | undefined
  /** Closes the stream of the answer where the client can resume it, after it was told to wait `retry`. */
  readonly closeStream?: ((retry?: Duration.Input) => void) | undefined
  /** Whether the data lane is below its high-water mark now. */
  readonly writable: () => boolean
  /** Waits until the data lane is below its high-water mark, or the transport has closed. */
  readonly ready: Effect.Effect<void>
  /** The same, but never waits for a client that reads nothing: what is sent meanwhile is kept up to a bound, or dropped. Default: `ready`. */
  readonly room?: Effect.Effect<void> | undefined
  /** Whether the other side reads what is sent here now: over HTTP only while it has the stream open. Default: it does. */
  readonly isRead?: (() => boolean) | undefined
  /** Completes when the other side reads it no more. Default: never. */
  readonly left?: Effect.Effect<void> | undefined
  /** Bytes that wait to be written, for views. Default: not known. */
  readonly backlog?: (() => number) | undefined
  /** Bytes that were sent and that the store of events has not kept yet, for views. Default: there is no such store. */
  readonly unkept?: (() => number) | undefined
}

/** Bytes of a transport since it was opened; `sent` counts the characters of messages, which are the bytes of ASCII. */
export interface Traffic {
  readonly received: number
  readonly sent: number
}

/** A connection. `Transport.map`, `filter` and `tap` change what arrives. */
export interface Transport extends Incoming.Incoming<Inbound, TransportError> {
  /** What arrives. Ends when the other side ends the conversation; fails when the transport broke. It may be run once. */
  readonly incoming: Stream.Stream<Inbound, TransportError>
  /** The push path of a transport that has callbacks (`fromCallback`). Default: `incoming` is pulled. */
  readonly delivery?: Incoming.Delivery<Inbound, TransportError> | undefined
  readonly sink: Sink
  /** Fails when writing has become impossible (broken pipe, overflow); never completes when the transport ends in order. */
  readonly broken: Effect.Effect<never, TransportError>
  /** One event whenever announcements may have been lost, though the conversation continues. Default never. */
  readonly missed?: Stream.Stream<void> | undefined
  /** Whether requests have headers (HTTP), which 2026-07-28 requires. Default false. */
  readonly headers?: boolean | undefined
  /** How much it has carried. Default: not known. */
  readonly traffic?: Traffic | undefined
  /** Where the other side is, for messages: a URL without its query, or a command line. Without control characters. */
  readonly address?: string | undefined
  /** The era of the server on an earlier transport, so that a client does not probe for the newer one again. */
  readonly era?: "stateful" | undefined
}

/**
 * What arrives at a transport of one's own that is called back: `incoming` and `delivery`, which hand over the same items. `run` calls
 * `receive` for each, until the effect ends or is interrupted; an error that `receive` throws must end it as a defect.
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

/** The transport with another source. Lists the members: a spread loses those that a class has as getters. */
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

/** What each message becomes, in a transport without other members than these. A function of Stream that is put in the place of `incoming` does the same, without the push path. */
export const map: {
  (f: (inbound: Inbound) => Inbound): (self: Transport) => Transport
  (self: Transport, f: (inbound: Inbound) => Inbound): Transport
} = dual(2, (self: Transport, f: (inbound: Inbound) => Inbound): Transport => withIncoming(self, Incoming.map(self, f)))

/** Drops what does not satisfy the predicate, as if it had not arrived: a request among it is not answered. */
export const filter: {
  (predicate: (inbound: Inbound) => boolean): (self: Transport) => Transport
  (self: Transport, predicate: (inbound: Inbound) => boolean): Transport
} = dual(2, (self: Transport, predicate: (inbound: Inbound) => boolean): Transport =>
  withIncoming(self, Incoming.filter(self, predicate))
)

/**
 * Calls `f` with what arrives, before the reader handles it. It runs in the reader: it must not block, and an error that it throws ends
 * the conversation as a defect.
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
