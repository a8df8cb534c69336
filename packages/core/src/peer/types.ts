/**
 * The interface of a peer: its requests, a role's handlers and options, and the peer itself.
 *
 * `Peer`, `Inbound` and `InboundRequest` all depend on this module. `Peer` re-exports it.
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

/** A request from the other peer, with the sink for its response. */
export interface ReceivedRequest {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  /** Set when the other peer cancels the request. Nothing more may be sent for it. */
  cancelled?: boolean
  /** The last progress sent for the request. */
  progress?: ProgressParams | undefined
  /** Number of questions its handler has asked, including earlier rounds. Default 0. */
  asked?: number | undefined
  /** When the request arrived, on the observer's clock. Default 0, if there is no observer. */
  readonly arrived?: number | undefined
  /** How long the request waited for a permit, in milliseconds, if there is an observer. Default 0. */
  readonly waited?: number | undefined
}

/** State of a request. `ending` means it was cancelled or interrupted, but its handler or finalizers are still running. */
export type InFlightState = "running" | "pending" | "ending"

/** A running or waiting request from the other peer. The object changes over time, so views must read it immediately. */
export interface OpenRequest extends ReceivedRequest {
  readonly state: InFlightState
  /** When the request started to run or wait, in milliseconds since 1970, or `undefined` during its first step. */
  readonly since: number | undefined
  readonly isSubscription: boolean
  /** Reason given by an operator who interrupted the request. The interruption itself doesn't carry it. */
  interrupted: string | undefined
}

/** The argument of a peer's request handler. */
export interface Exchange extends ReceivedRequest {
  readonly peer: Peer
}

/** A request from the other peer, for live views. */
export interface InFlight {
  readonly id: JsonRpc.Id
  readonly method: string
  readonly state: InFlightState
  /** When the request started to run or wait, in milliseconds since 1970, on the Clock service. */
  readonly since: number
}

/** A request from the other peer that has ended or was rejected. */
export interface ReceivedEnd extends Pick<ReceivedRequest, "request" | "envelope"> {
  /** When the request arrived, on the observer's clock. */
  readonly arrived: number
  /** How long the request waited for a permit, in milliseconds. */
  readonly waited: number
  /** Reason given by an operator who interrupted the request. */
  readonly interrupted?: string | undefined
}

/** A request sent by this peer that has ended. */
export interface SentEnd {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
  /** When the request was sent, on the observer's clock. */
  readonly began: number
}

/**
 * Called when a request of either peer ends. It runs while messages are being processed, so it must not block or throw, and must not keep
 * its arguments. An exit that only contains an interruption means that the request was cancelled or interrupted.
 */
export interface PeerObserver {
  /** Returns the time in milliseconds. Only differences matter. */
  readonly now: () => number
  /** Called after the response has been sent. */
  readonly received: (end: ReceivedEnd, exit: Exit.Exit<unknown, McpError.McpError>, peer: Peer) => void
  readonly sent: (end: SentEnd, exit: Exit.Exit<unknown, RequestError>, peer: Peer) => void
}

/** Called with each message before it is handled or sent. Must not block, throw, or keep the message. */
export type Watcher = (direction: "received" | "sent", message: JsonRpc.Message) => void

/** Handlers provided by a role (server or client). The effects have no requirements, because a role captures its own context. */
export interface PeerHandlers extends SpanSource {
  /**
   * Handles a request. Runs in a separate fiber unless the effect is already complete. Its success value is sent as the result. A defect is
   * reported as -32603, without details.
   */
  readonly request: (exchange: Exchange) => Effect.Effect<unknown, McpError.McpError>
  /**
   * True if the effects returned by `request` are uninterruptible except for the regions they mark as interruptible. Default false: they
   * can be interrupted anywhere.
   */
  readonly masksInterruption?: boolean | undefined
  /**
   * Called for each notification in order of arrival, while messages are being read. Must not block. It is never called for progress, and
   * only called for a cancellation if it names a request sent by this peer.
   */
  readonly notification: (notification: JsonRpc.Notification, envelope: Envelope, peer: Peer) => void
  /** Responds without a permit, while messages are being read. For ping. Returns `undefined` to leave the request to `request`. */
  readonly immediate?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Called when the sender cancels a request. `reason` is truncated to 200 characters, and `undefined` if it isn't a string. */
  readonly cancelled?: ((request: JsonRpc.Request, reason: string | undefined) => void) | undefined
  /** Returns the result to send when this peer interrupts a subscription. Default: responds with -31503 and the reason. */
  readonly subscriptionEnded?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Called when a request starts to run or wait, is sent, or ends. */
  readonly changed?: (() => void) | undefined
  /** Observes requests. Default: no observer, and nothing is measured. */
  readonly observer?: PeerObserver | undefined
  /** Called with the reason when a message is dropped: a duplicate ID, a response to an unknown request, or an invalid response. */
  readonly dropped?: ((reason: string) => void) | undefined
}

export interface Options {
  /** Maximum number of requests from the other peer that run concurrently. Any others wait. Default 64. */
  readonly inFlight?: number | undefined
  /** Returns true if a request is meant to stay open: it doesn't need a permit, and `idle` doesn't wait for it. Default: never. */
  readonly isSubscription?: ((request: JsonRpc.Request) => boolean) | undefined
  /** Maximum number of requests waiting for a permit, and of open subscriptions. Any others are rejected with -31429. Default 1024. */
  readonly pending?: number | undefined
  /** The revision's `id` for errors about invalid messages: `null` before 2025-11-25, absent since then. */
  readonly unreadableId?: (() => null | undefined) | undefined
  /**
   * How long requests in flight may keep running after the other peer closes the connection normally. Default: they are interrupted
   * immediately.
   */
  readonly grace?: Duration.Input | undefined
  /** Returns true if batches are currently allowed. Otherwise they are rejected with -32600. Default: never. */
  readonly batches?: (() => boolean) | undefined
  /** ID of the first request to send. Set a higher ID if an earlier peer has already used IDs on this connection. Default 1. */
  readonly firstId?: number | undefined
  /** Called once, when the connection has ended. */
  readonly ended?: (() => void) | undefined
}

/** One end of a connection. */
export interface Peer {
  /**
   * Handles an incoming message. Called by the reader of `Peer.make`, and by endpoints without a duplex transport, which pass the sink for
   * responses.
   */
  readonly receive: (inbound: Inbound, sink?: Sink) => void
  /** Sends a request and waits for the response. Interruption and timeout send `notifications/cancelled`. */
  readonly request: (
    method: string,
    params?: JsonRpc.Params,
    options?: RequestOptions
  ) => Effect.Effect<unknown, RequestError>
  /** Sends a notification without waiting. Use `sink.ready` for back-pressure. */
  readonly notify: (method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id) => void
  readonly sink: Sink
  /**
   * From now on, shows each message to this watcher, replacing any earlier watcher. Pass `undefined` to stop. Costs
   * nothing without a watcher.
   */
  readonly watch: (watcher: Watcher | undefined) => void
  /** Requests from the other peer that are running or waiting. */
  readonly inFlight: Effect.Effect<ReadonlyArray<InFlight>>
  /** Same as `inFlight`, but synchronous and for views. Includes arguments and headers. */
  readonly open: () => ReadonlyArray<OpenRequest>
  /** This peer's requests that are waiting for a response. */
  readonly sent: () => ReadonlyArray<SentRequest>
  /**
   * Fails one of this peer's requests with -31503 and the reason, and cancels it on the other peer. Returns false if no such request is
   * waiting.
   */
  readonly giveUp: (id: JsonRpc.Id, reason: string) => boolean
  /** Number of this peer's requests that are waiting for a response. */
  readonly outstanding: () => number
  /**
   * Interrupts one request from the other peer, or all of them, with a reason. Unlike a cancelled request, an interrupted request receives
   * a response, with error -31503. Returns false if no such request is running or waiting.
   */
  readonly interrupt: (reason: string, id?: JsonRpc.Id) => boolean
  /** Closes the connection normally, like closing its scope: running requests fail with -31503. */
  readonly end: () => void
  /** Closes the connection as if the transport had failed. */
  readonly abort: (error: TransportError) => void
  /** Completes when no request from the other peer is running or waiting. Subscriptions don't count. */
  readonly idle: Effect.Effect<void>
  /** Completes when no subscription from the other peer is open. By then, each one has received its response. */
  readonly subscriptionsEnded: Effect.Effect<void>
  /** Completes when the other peer closes the connection. Fails when the transport does. */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}
