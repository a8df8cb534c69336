/**
 * One end of a connection, implemented as an actor. Both server sessions and clients are peers.
 *
 * Routes incoming messages: requests to `Inbound`, responses and progress to `Outbound`, notifications to the role. Routing is synchronous:
 * each pending request is a fiber, and each sent request is a pending continuation. Reading messages never writes, and never waits for a
 * handler, a permit or a full outbox. Closing the scope interrupts the fibers, waits for their finalizers and fails outstanding requests
 * with `Closed`.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { callback } from "../internal/callback.ts"
import * as Incoming from "../transport/Incoming.ts"
import type { Envelope, Inbound, Single, Sink, Transport, TransportError } from "../transport/Transport.ts"
import { collectBatch, refuseBatch } from "./batch.ts"
import { InboundRequests, nameOf, type RunFork } from "./Inbound.ts"
import { Closed, OutboundRequests, type RequestError, type RequestOptions, type SentRequest } from "./Outbound.ts"
import * as Spans from "./Spans.ts"
import type { PeerHandlers, InFlight, OpenRequest, Options, Peer, Watcher } from "./types.ts"
import { WatchedSink } from "./WatchedSink.ts"

export { answer, response } from "./answer.ts"
export { Closed, type RequestError, type RequestOptions, type SentRequest, Timeout } from "./Outbound.ts"
export type {
  ReceivedRequest,
  Exchange,
  PeerHandlers as Handlers,
  InFlight,
  InFlightState,
  PeerObserver as Observer,
  OpenRequest,
  Options,
  Peer,
  ReceivedEnd,
  SentEnd,
  Watcher
} from "./types.ts"

/** A peer that its owner must close. */
export interface PeerWithoutTransport extends Peer {
  /** Interrupts running requests, waits for them to end, and fails outstanding requests. */
  readonly close: (exit: Exit.Exit<void, TransportError>) => Effect.Effect<void>
}

class Router implements PeerWithoutTransport {
  sink: Sink
  private readonly unwatched: Sink
  private watcher: Watcher | undefined = undefined
  private readonly handlers: PeerHandlers
  private readonly options: Options
  private readonly clock: Clock.Clock
  private readonly runFork: RunFork
  private readonly inbound: InboundRequests
  private readonly outbound: OutboundRequests
  private readonly closed = Deferred.makeUnsafe<void, TransportError>()
  private closing = false
  /** Stops the reader, if there is one. */
  stopReading: ((end: Effect.Effect<never, TransportError>) => void) | undefined = undefined

  constructor(sink: Sink, handlers: PeerHandlers, options: Options, clock: Clock.Clock, runFork: RunFork) {
    this.sink = sink
    this.unwatched = sink
    this.handlers = handlers
    this.options = options
    this.clock = clock
    this.runFork = runFork
    this.inbound = new InboundRequests(this, handlers, options, clock, runFork)
    this.outbound = new OutboundRequests(sink, clock, runFork, handlers, options.firstId)
  }

  // ---- incoming messages

  receive(inbound: Inbound, sink: Sink = this.sink): void {
    if (this.closing) return
    if (inbound._tag === "Message") {
      const { envelope, message, replyTo = sink } = inbound
      return this.receiveMessage(message, envelope, this.watcher === undefined ? replyTo : this.watched(replyTo))
    }
    if (inbound._tag === "Batch") return this.receiveBatch(inbound.members, sink)
    if (inbound._tag !== "RequestAborted") return this.receiveSingle(inbound, sink)
    const { error: cause, id, unsent } = inbound
    this.outbound.fail(id, new Closed({ message: cause.message, cause, unsent }))
  }

  private receiveBatch(members: ReadonlyArray<Single>, sink: Sink): void {
    const refused = refuseBatch(members.length, this.options.batches?.() === true, this.inbound.limit)
    if (refused !== undefined) return this.answerInvalid(undefined, refused, sink)
    collectBatch(members, sink, (member, collecting) => this.receiveSingle(member, collecting))
  }

  private receiveSingle(single: Single, sink: Sink): void {
    if (single._tag === "Message") return this.receiveMessage(single.message, single.envelope, sink)
    if (!single.response) return this.answerInvalid(single.id, single.error, sink)
    // Never respond to a response, not even with an error.
    if (single.id === undefined || !this.outbound.fail(single.id, single.error)) {
      this.handlers.dropped?.(single.error.message)
    }
  }

  private receiveMessage(message: JsonRpc.Message, envelope: Envelope, sink: Sink): void {
    this.watcher?.("received", message)
    if (JsonRpc.isResponse(message)) {
      if (!this.outbound.answer(message)) {
        this.handlers.dropped?.(`A response to an unknown request: ${nameOf(message.id)}`)
      }
    } else if (JsonRpc.isRequest(message)) this.inbound.receive(message, envelope, sink)
    else this.receiveNotification(message, envelope)
  }

  private receiveNotification(notification: JsonRpc.Notification, envelope: Envelope): void {
    const { method, params } = notification
    if (method === "notifications/progress") return this.outbound.progress(params)
    if (method === "notifications/cancelled") {
      if (this.inbound.cancel(params)) return
      // The ID may belong to one of this peer's requests, because that is how a server ends a subscription (2026-07-28).
      if (!this.outbound.has(params?.requestId)) return
    }
    this.handlers.notification(notification, envelope, this)
  }

  private answerInvalid(id: JsonRpc.Id | undefined, error: McpError.McpError, sink: Sink): void {
    sink.send(JsonRpc.failure(id ?? this.options.unreadableId?.(), error), "control")
  }

  // ---- outgoing messages

  watch(watcher: Watcher | undefined): void {
    this.watcher = watcher
    this.sink = watcher === undefined ? this.unwatched : this.watched(this.unwatched)
    this.outbound.sink = this.sink
    if (watcher !== undefined) for (const request of this.inbound.open) request.sink = this.watched(request.sink)
  }

  private watched(sink: Sink): Sink {
    return sink instanceof WatchedSink ? sink : new WatchedSink(sink, () => this.watcher)
  }

  request(method: string, params?: JsonRpc.Params, options?: RequestOptions): Effect.Effect<unknown, RequestError> {
    const { observer } = this.handlers
    const request = this.outbound.request(method, params, options)
    if (observer === undefined) return request
    return Effect.suspend(() => {
      const began = observer.now()
      return Effect.onExit(request, (exit) =>
        Effect.sync(() =>
          callback("An observer of requests", this.runFork, () => observer.sent({ method, params, began }, exit, this))
        )
      )
    })
  }

  notify(method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id): void {
    Spans.notify(this.sink, JsonRpc.notification(method, params), "data", relatedTo, this.handlers)
  }

  outstanding(): number {
    return this.outbound.size
  }

  sent(): ReadonlyArray<SentRequest> {
    return this.outbound.sent
  }

  giveUp(id: JsonRpc.Id, reason: string): boolean {
    return this.outbound.giveUp(id, reason)
  }

  // ---- requests from the other peer

  get inFlight(): Effect.Effect<ReadonlyArray<InFlight>> {
    return Effect.sync(() => {
      const now = this.clock.currentTimeMillisUnsafe()
      return this.inbound.open.map(({ request: { id, method }, since = now, state }) => ({ id, method, state, since }))
    })
  }

  open(): ReadonlyArray<OpenRequest> {
    return this.inbound.open
  }

  interrupt(reason: string, id?: JsonRpc.Id): boolean {
    return this.inbound.interrupt(reason, id)
  }

  get idle(): Effect.Effect<void> {
    return this.inbound.idle
  }

  get subscriptionsEnded(): Effect.Effect<void> {
    return this.inbound.subscriptionsEnded
  }

  // ---- closing

  end(): void {
    if (this.stopReading === undefined) this.runFork(this.close(Exit.void))
    // An interrupted reader counts as a normal close.
    else this.stopReading(Effect.interrupt)
  }

  abort(error: TransportError): void {
    if (this.stopReading === undefined) this.runFork(this.close(Exit.fail(error)))
    else this.stopReading(Effect.fail(error))
  }

  get awaitClosed(): Effect.Effect<void, TransportError> {
    return Deferred.await(this.closed)
  }

  /** Runs after the other peer has closed the connection. No more responses can arrive, but this peer may still send its own. */
  get finish(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { grace } = this.options
      this.outbound.close(undefined)
      return grace === undefined ? Effect.void : Effect.ignore(Effect.timeoutOption(this.idle, grace))
    })
  }

  close(exit: Exit.Exit<void, TransportError>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.closing) this.options.ended?.()
      this.closing = true
      // Closing the scope is a normal end, although it interrupts the reader.
      const inOrder = Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
      // Must happen before `closed`, so that code waiting for the end sees its requests fail.
      this.outbound.close(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined)
      Deferred.doneUnsafe(this.closed, inOrder ? Exit.void : exit)
      this.inbound.interrupt("The connection is closing")
      return this.inbound.awaitFibers
    })
  }
}

/**
 * Starts reading in the scope. Handlers run with the calling fiber's services (clock, tracer, loggers).
 *
 * @example
 * ```ts
 * import { Memory, Peer } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const handlers: Peer.Handlers = {
 *   request: ({ request }) => Effect.succeed({ method: request.method }),
 *   notification: () => {}
 * }
 *
 * const program = Effect.gen(function* () {
 *   const [left, right] = yield* Memory.pair()
 *   yield* Peer.make(left, handlers)
 *   const peer = yield* Peer.make(right, handlers)
 *   console.log(JSON.stringify(yield* peer.request("any/method", {}, { timeout: "1 second" }))) // => {"method":"any/method"}
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const make = Effect.fnUntraced(function* (
  transport: Transport,
  handlers: PeerHandlers,
  options: Options = {}
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const peer = new Router(transport.sink, handlers, options, yield* Clock.Clock, runFork)
  yield* Effect.addFinalizer(() => peer.close(Exit.void))
  const aborted = Deferred.makeUnsafe<never, TransportError>()
  const stopReading = (end: Effect.Effect<never, TransportError>): void => void Deferred.doneUnsafe(aborted, end)
  peer.stopReading = stopReading
  const reading = Effect.andThen(
    Incoming.forEach(transport, (inbound) => peer.receive(inbound)),
    peer.finish
  )
  yield* Effect.raceAllFirst([reading, transport.broken, Deferred.await(aborted)]).pipe(
    Effect.onExit((exit) => peer.close(exit)),
    Effect.exit,
    Effect.forkScoped
  )
  return peer
})

/** Creates a peer without a reader or a fiber. The owner calls `receive` and closes the peer. Handlers run with `runFork`. */
export const makeWithoutTransport = (
  sink: Sink,
  handlers: PeerHandlers,
  options: Options,
  clock: Clock.Clock,
  runFork: RunFork
): PeerWithoutTransport => new Router(sink, handlers, options, clock, runFork)
