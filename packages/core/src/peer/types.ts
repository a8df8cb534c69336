/**
 * What a peer is to its users: its requests, the handlers and options of a role, the peer itself.
 *
 * Below `Peer`, `Inbound` and `InboundRequest`, which all need it; `Peer` hands it on.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Envelope, Inbound, Sink, TransportError } from "../transport/Transport.ts"
import type { SpanSource } from "./Spans.ts"
import type { RequestError, RequestOptions, SentRequest } from "./Outbound.ts"

/** A request of the other side, with the sink of its answer. */
export interface ReceivedRequest {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  /** Set when the other side cancels the request: from then on nothing may be sent for it. */
  cancelled?: boolean
  /** The last progress that was sent for it. */
  progress?: ProgressParams | undefined
  /** How many questions its handler has asked, in earlier rounds too. Default 0. */
  asked?: number | undefined
  /** When it arrived, by the clock of the observer. Default 0: nothing observes it. */
  readonly arrived?: number | undefined
  /** How long it waited for a permit, in milliseconds, where it is observed. Default 0. */
  readonly waited?: number | undefined
}

/** `ending`: it was cancelled or interrupted, and its handler or finalizers still run. */
export type InFlightState = "running" | "pending" | "ending"

/** A request of the other side that runs or waits, as it is now: for views, which are made of it at once. */
export interface OpenRequest extends ReceivedRequest {
  readonly state: InFlightState
  /** When it started to run or to wait, in milliseconds since the epoch; undefined in its first step. */
  readonly since: number | undefined
  readonly isSubscription: boolean
  /** The reason if an operator interrupted the request, which its interruption alone does not say. */
  interrupted: string | undefined
}

/** What a peer's request handler is given. */
export interface Exchange extends ReceivedRequest {
  readonly peer: Peer
}

/** One request of the other side, for live views. */
export interface InFlight {
  readonly id: JsonRpc.Id
  readonly method: string
  readonly state: InFlightState
  /** When it started to run or to wait, in milliseconds since the epoch, by the Clock. */
  readonly since: number
}

/** A request of the other side that has ended, or is refused. */
export interface ReceivedEnd extends Pick<ReceivedRequest, "request" | "envelope"> {
  /** When it arrived, by the clock of the observer. */
  readonly arrived: number
  /** How long it waited for a permit, in milliseconds. */
  readonly waited: number
  /** The reason if an operator interrupted the request. */
  readonly interrupted?: string | undefined
}

/** A request of this peer that has ended. */
export interface SentEnd {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
  /** When it was made, by the clock of the observer. */
  readonly began: number
}

/**
 * Called with every request of both sides when it ends. The calls are in the path of the messages: they must neither block nor throw, and
 * must not keep what they are given. An exit of interruption alone is a request that was cancelled or interrupted.
 */
export interface PeerObserver {
  /** Milliseconds; only differences count. */
  readonly now: () => number
  /** Called after the answer has left. */
  readonly received: (end: ReceivedEnd, exit: Exit.Exit<unknown, McpError.McpError>, peer: Peer) => void
  readonly sent: (end: SentEnd, exit: Exit.Exit<unknown, RequestError>, peer: Peer) => void
}

/** Called with each message of a conversation before it is handled or leaves; must not block, throw, or keep the message. */
export type Watcher = (direction: "received" | "sent", message: JsonRpc.Message) => void

/** What the two roles, server and client, plug in. The effects have no requirements: a role captures its own context. */
export interface PeerHandlers extends SpanSource {
  /**
   * Answers a request, in a fiber of its own unless the effect is complete already. Its success is the result on the wire; a defect is
   * answered by -32603 without details.
   */
  readonly request: (exchange: Exchange) => Effect.Effect<unknown, McpError.McpError>
  /**
   * True if the effects of `request` mark the regions in which they can be interrupted and are uninterruptible elsewhere. Default false: they
   * can be interrupted anywhere.
   */
  readonly masksInterruption?: boolean | undefined
  /**
   * Called in the reader, in order of arrival; must not block. It gets no progress, and a cancel only where it names a request that this
   * peer has sent.
   */
  readonly notification: (notification: JsonRpc.Notification, envelope: Envelope, peer: Peer) => void
  /** Answers in the reader, without a permit: for ping. `undefined` leaves the request to `request`. */
  readonly immediate?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Called when the sender of a request has cancelled it. `reason` is cut at 200 characters; undefined unless it is a string. */
  readonly cancelled?: ((request: JsonRpc.Request, reason: string | undefined) => void) | undefined
  /**
   * Called when a subscription of the other side was interrupted by this one: the result that ends it in order. Default: it is answered by
   * -31503 with the reason.
   */
  readonly subscriptionEnded?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Called when a request begins to run or to wait, is sent, or ends. */
  readonly changed?: (() => void) | undefined
  /** Default: nothing observes the peer, and nothing is measured. */
  readonly observer?: PeerObserver | undefined
  /** Called with the reason when a message is dropped: a duplicate id, an answer to no request, an invalid response. */
  readonly dropped?: ((reason: string) => void) | undefined
}

export interface Options {
  /** How many requests of the other side run at once; more wait. Default 64. */
  readonly inFlight?: number | undefined
  /** Whether a request stays open by design: it takes no permit, and `idle` does not wait for it. Default never. */
  readonly isSubscription?: ((request: JsonRpc.Request) => boolean) | undefined
  /** How many requests may wait for a permit, and how many subscriptions may be open; one more is refused with -31429. Default 1024. */
  readonly pending?: number | undefined
  /** The revision's `id` for errors about invalid messages: `null` before 2025-11-25, absent from then on. */
  readonly unreadableId?: (() => null | undefined) | undefined
  /** When the other side ends the conversation in order: how long requests in flight may still run. Default not at all. */
  readonly grace?: Duration.Input | undefined
  /** Whether a batch may be received now; otherwise it is answered by -32600. Default never. */
  readonly batches?: (() => boolean) | undefined
  /** The id of the first request that is sent: greater where an earlier peer of the same conversation has used ids. Default 1. */
  readonly firstId?: number | undefined
  /** Called once, when the conversation is over. */
  readonly ended?: (() => void) | undefined
}

/** One end of a conversation. */
export interface Peer {
  /** Handles what arrived. The reader of `Peer.make` calls it; so does an endpoint without a duplex transport, with the sink of the answers. */
  readonly receive: (inbound: Inbound, sink?: Sink) => void
  /** Sends a request and waits for the answer. Its interruption and its timeout send `notifications/cancelled`. */
  readonly request: (
    method: string,
    params?: JsonRpc.Params,
    options?: RequestOptions
  ) => Effect.Effect<unknown, RequestError>
  /** Sends a notification without waiting; see `sink.ready` for back-pressure. */
  readonly notify: (method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id) => void
  readonly sink: Sink
  /** Shows each message to a watcher from now on, in place of an earlier one; undefined: to none. It costs nothing while there is none. */
  readonly watch: (watcher: Watcher | undefined) => void
  /** The requests of the other side that run or wait. */
  readonly inFlight: Effect.Effect<ReadonlyArray<InFlight>>
  /** The same for views, as they are; they hold arguments and headers. */
  readonly open: () => ReadonlyArray<OpenRequest>
  /** The requests of this peer that wait for an answer. */
  readonly sent: () => ReadonlyArray<SentRequest>
  /** Gives up a request of this peer: it fails with -31503 and the reason, and the other side is told. False where none of that id waits. */
  readonly giveUp: (id: JsonRpc.Id, reason: string) => boolean
  /** How many requests of this peer wait for an answer. */
  readonly outstanding: () => number
  /**
   * Interrupts one request of the other side, or all, with a reason. Unlike a cancelled request it is answered, by -31503. False where no
   * such request runs or waits.
   */
  readonly interrupt: (reason: string, id?: JsonRpc.Id) => boolean
  /** Ends the conversation in order, as the end of its scope does: requests that run are answered by -31503. */
  readonly end: () => void
  /** Ends the conversation as if the transport had broken. */
  readonly abort: (error: TransportError) => void
  /** Completes when no request of the other side runs or waits; subscriptions do not count. */
  readonly idle: Effect.Effect<void>
  /** Completes when no subscription of the other side is in flight; each has been answered by then. */
  readonly subscriptionsEnded: Effect.Effect<void>
  /** Completes when the other side ended the conversation; fails when the transport broke. */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}
