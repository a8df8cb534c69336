/**
 * One end of a conversation, as an actor. Server sessions and clients are both one.
 *
 * A synchronous state machine over plain maps: every inbound request that waits is a fiber, every outbound request one waiting
 * continuation. The reader always pulls; it never writes, never awaits a handler, a permit or a full outbox. Closing the scope
 * interrupts the fibers (and waits for their finalizers) and fails what is outstanding with `Closed`.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { Actor } from "./Inbound.ts"
import type * as Outbound from "./Outbound.ts"
import type { InFlight } from "./InboundRequest.ts"
import * as Incoming from "../transport/Incoming.ts"
import type { Envelope, Inbound, Sink, Transport, TransportError } from "../transport/Transport.ts"

export { answer, response } from "./answer.ts"
export type { InFlight } from "./InboundRequest.ts"
export { Closed, type RequestError, type RequestOptions, Timeout } from "./Outbound.ts"

/** A request and the way back to its asker: all that it takes to answer. */
export interface Asked {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  /** Set when the asker wants no answer any more: nothing is to be sent for the request from then on. */
  cancelled?: boolean
  /** Called when a fiber is about to run for the request: what answers it at once needs none. */
  readonly begun?: (() => void) | undefined
}

/** What a peer's request handler is given. */
export interface Exchange extends Asked {
  readonly peer: Peer
}

/** What the two roles plug in. All of it runs without requirements: a role captures its own context. */
export interface Handlers {
  /** Runs in a fiber of its own at once, unless it is done already. Its success is the wire result; a defect answers -32603 without details. */
  readonly request: (exchange: Exchange) => Effect.Effect<unknown, McpError.McpError>
  /** Called in the reader, in order of arrival; must not block. `progress` never gets here, `cancelled` only about a request of ours. */
  readonly notification: (notification: JsonRpc.Notification, envelope: Envelope, peer: Peer) => void
  /** Answers in the reader, before permits: for ping. `undefined` leaves the request to `request`. */
  readonly immediate?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Called when the sender of a request has cancelled it. `reason` is cut at 200 characters; what is no string is none. */
  readonly cancelled?: ((request: JsonRpc.Request, reason: string | undefined) => void) | undefined
  /** Told of what is dropped by rule: a duplicate id, an answer to nothing, a line that is no message. */
  readonly dropped?: ((reason: string) => void) | undefined
}

export interface Options {
  /** Requests of the other side that run at once; more wait. Default 64. */
  readonly inFlight?: number | undefined
  /** Requests that stand open by design (subscriptions): they take no permit, and being idle does not wait for them. */
  readonly standing?: ((request: JsonRpc.Request) => boolean) | undefined
  /** Requests that may wait for a permit, and as many that may stand open; one more is refused with -31429. Default 1024. */
  readonly pending?: number | undefined
  /** The revision's `id` for errors about unreadable messages: `null` before 2025-11-25, absent from then on. */
  readonly unreadableId?: (() => null | undefined) | undefined
  /** When the other side ends the conversation in order: how long requests in flight may still run. Default not at all. */
  readonly grace?: Duration.Input | undefined
  /** Whether a batch may be received now; otherwise it answers -32600. Default never. */
  readonly batches?: (() => boolean) | undefined
  /** Called once the conversation is over, however that came. */
  readonly ended?: (() => void) | undefined
}

export interface Peer {
  /** Hands over what arrived. The reader fiber of `make` does; so does a wire that is no duplex, with the sink of the answers. */
  readonly receive: (inbound: Inbound, sink?: Sink) => void
  /** Asks the other side and waits. Interrupting it, or its timeout, tells the other side by `notifications/cancelled`. */
  readonly request: (
    method: string,
    params?: JsonRpc.Params,
    options?: Outbound.RequestOptions
  ) => Effect.Effect<unknown, Outbound.RequestError>
  /** Sends a notification without waiting; see `sink.ready` for back-pressure. */
  readonly notify: (method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id) => void
  readonly sink: Sink
  readonly inFlight: Effect.Effect<ReadonlyArray<InFlight>>
  /** Requests of ours that wait for an answer. */
  readonly outstanding: () => number
  /** Interrupts one inbound request (or all) with a reason; unlike a cancel by its sender it is answered, by -31503. */
  readonly interrupt: (reason: string, id?: JsonRpc.Id) => void
  /** Ends the conversation as if the wire had broken. */
  readonly abort: (error: TransportError) => void
  /** Completes when nothing of the other side's runs or waits any more. */
  readonly idle: Effect.Effect<void>
  /** Completes when the other side ended the conversation; fails when the wire broke. */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

/** Starts the reader in the scope. Handlers run on the services of the calling fiber (clock, tracer, loggers). */
export const make = Effect.fnUntraced(function* (
  transport: Transport,
  handlers: Handlers,
  options: Options = {}
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const peer = new Actor(transport.sink, handlers, options, yield* Clock.Clock, runFork)
  yield* Effect.addFinalizer(() => peer.close(Exit.void))
  const aborted = Deferred.makeUnsafe<never, TransportError>()
  peer.stopReading = (error) => void Deferred.doneUnsafe(aborted, Effect.fail(error))
  yield* Incoming.forEach(transport, (inbound) => peer.receive(inbound)).pipe(
    Effect.andThen(peer.finish),
    Effect.raceFirst(Effect.raceFirst(transport.broken, Deferred.await(aborted))),
    Effect.onExit((exit) => peer.close(exit)),
    Effect.exit,
    Effect.forkScoped
  )
  return peer
})

/** A peer that its maker has to close. */
export interface Passive extends Peer {
  /** Interrupts what runs and waits for it; fails what is outstanding. */
  readonly close: (exit: Exit.Exit<void, TransportError>) => Effect.Effect<void>
}

/** One without a wire to read or to watch: all that arrives comes by `receive`. Handlers run by `runFork`. It owns no fiber. */
export const passive = (
  sink: Sink,
  handlers: Handlers,
  options: Options,
  clock: Clock.Clock,
  runFork: (effect: Effect.Effect<unknown, McpError.McpError>) => Fiber.Fiber<unknown, McpError.McpError>
): Passive => new Actor(sink, handlers, options, clock, runFork)
