/**
 * A duplex wire: a Stream of what arrives and a Sink for what leaves. Its Scope is the connection.
 *
 * Owns the vocabulary that every endpoint and connector speaks. Refuses to know what a method means: that is the Peer's handlers.
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
 * Why a wire, or the exchange of one request, ended otherwise than by its end. `exitCode` and `stderr` (its last lines) when a child
 * process was the other end; `status` when an HTTP answer was none (`Status`), or said that the session is gone (`SessionLost`).
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  readonly reason: "Read" | "Write" | "Overflow" | "Open" | "Exited" | "KeepAlive" | "Status" | "SessionLost"
  readonly message: string
  readonly status?: number | undefined
  readonly exitCode?: number | undefined
  readonly stderr?: string | undefined
  readonly cause?: unknown
}> {}

/** What came with a message beside its text; HTTP fills it, stdio leaves it empty. */
export interface Envelope {
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly principal?: Principal["Service"] | undefined
  /** The address of the other side, or of the proxy before it, where the transport knows it (HTTP). */
  readonly address?: string | undefined
  /** The request of the receiver's own on whose exchange it came, where requests have exchanges to themselves (HTTP). */
  readonly relatedTo?: JsonRpc.Id | undefined
}

/** One message, or something that is none: then the error to answer with, and whose request it was if that is known. */
export type Single =
  | {
      readonly _tag: "Message"
      readonly message: JsonRpc.Message
      readonly envelope: Envelope
      /** Where the answer leaves, and what else relates to the request: the response of a POST. Default the transport's `sink`. */
      readonly replyTo?: Sink | undefined
    }
  | {
      readonly _tag: "InvalidMessage"
      readonly error: McpError
      readonly id: JsonRpc.Id | undefined
      /** A response that could not be read fails the request it answers, instead of being answered. */
      readonly response: boolean
      /** How it begins, for whoever reports it. */
      readonly text?: string | undefined
    }

/** A request of ours will not be answered, though the wire lives on: the exchange that it had to itself is over. */
export interface RequestAborted {
  readonly _tag: "RequestAborted"
  readonly id: JsonRpc.Id
  readonly error: TransportError
  /** The other side has certainly not acted on it: sending it again is safe. */
  readonly unsent: boolean
}

/** What a text was: one message, or a batch of them. */
export type Decoded = Single | { readonly _tag: "Batch"; readonly members: ReadonlyArray<Single> }

/** What arrives. */
export type Inbound = Decoded | RequestAborted

/**
 * `control`: responses, cancellations, pings; never waits, has a cap of its own, and passing that cap closes the wire.
 * `data`: everything else; its senders wait for `ready` first.
 */
export type Lane = "control" | "data"

/** Headers that a request takes along, where its wire has such. */
export type RequestHeaders = { readonly [name: string]: string }

/** Where messages leave. `send` never waits and keeps the order of its calls; after the wire has closed it does nothing. */
export interface Sink {
  readonly send: (
    message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>,
    lane: Lane,
    relatedTo?: JsonRpc.Id,
    headers?: RequestHeaders
  ) => void
  /** Says that no answer to that request will come: its batch or its POST need not wait for one. */
  readonly noAnswer?: ((relatedTo: JsonRpc.Id) => void) | undefined
  /** Ends the connection that the answer travels on, where the client can come back for the rest; it is told to wait `retry` first. */
  readonly closeStream?: ((retry?: Duration.Input) => void) | undefined
  /** Whether the data lane is below its high-water mark at this moment. */
  readonly writable: () => boolean
  /** Waits until the data lane is below its high-water mark; also returns once the wire has closed. */
  readonly ready: Effect.Effect<void>
}

/** A connection. `Transport.map`, `filter` and `tap` change what arrives. */
export interface Transport extends Incoming.Incoming<Inbound, TransportError> {
  /** What arrives. Ends when the other side is done; fails when the wire broke. It may be run once. */
  readonly incoming: Stream.Stream<Inbound, TransportError>
  /** The push path of a transport that has callbacks (`fromCallback`). Default: `incoming` is pulled. */
  readonly delivery?: Incoming.Delivery<Inbound, TransportError> | undefined
  readonly sink: Sink
  /** Completes when writing has become impossible (broken pipe, overflow); never when the wire ends in order. */
  readonly broken: Effect.Effect<never, TransportError>
  /** Tells that something may have been announced which did not arrive, though the conversation goes on. Default never. */
  readonly missed?: Stream.Stream<void> | undefined
  /** Whether requests take headers along (HTTP): then those of 2026-07-28 must. Default false. */
  readonly headers?: boolean | undefined
  /** Where the other side is, for messages: a URL without its query, or a command line. Holds nothing that steers a terminal. */
  readonly address?: string | undefined
  /** What the other side was found to be on an earlier wire: a server with sessions need not be asked for the newer era again. */
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

/** What each message becomes. A function of Stream that is put in the place of `incoming` does the same, without the push path. */
export const map: {
  (f: (inbound: Inbound) => Inbound): <T extends Transport>(self: T) => T
  <T extends Transport>(self: T, f: (inbound: Inbound) => Inbound): T
} = dual(2, <T extends Transport>(self: T, f: (inbound: Inbound) => Inbound): T => ({
  ...self,
  ...Incoming.map(self, f)
}))

/** Drops what does not satisfy the predicate, as if it had not arrived: a request among it is not answered. */
export const filter: {
  (predicate: (inbound: Inbound) => boolean): <T extends Transport>(self: T) => T
  <T extends Transport>(self: T, predicate: (inbound: Inbound) => boolean): T
} = dual(2, <T extends Transport>(self: T, predicate: (inbound: Inbound) => boolean): T => ({
  ...self,
  ...Incoming.filter(self, predicate)
}))

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
  (f: (inbound: Inbound) => void): <T extends Transport>(self: T) => T
  <T extends Transport>(self: T, f: (inbound: Inbound) => void): T
} = dual(2, <T extends Transport>(self: T, f: (inbound: Inbound) => void): T =>
  map(self, (inbound) => {
    f(inbound)
    return inbound
  })
)
