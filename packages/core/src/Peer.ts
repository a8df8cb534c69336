/**
 * One end of a conversation, as an actor. Server sessions and clients are both one.
 *
 * A synchronous state machine over plain maps: every inbound request is exactly one fiber, every outbound request one waiting
 * continuation. The reader always pulls; it never writes, never awaits a handler, a permit or a full outbox. Closing the scope
 * interrupts the fibers (and waits for their finalizers) and fails what is outstanding with `Closed`.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { exitOf } from "./Done.ts"
import { answer, response } from "./internal/answer.ts"
import { collectBatch, refuseBatch } from "./internal/batch.ts"
import * as Outbound from "./internal/outbound.ts"
import { type InFlight, type Running, view } from "./internal/running.ts"
import type { Envelope, Inbound, Single, Sink, Transport, TransportError } from "./Transport.ts"

export { answer, response } from "./internal/answer.ts"
export type { InFlight } from "./internal/running.ts"
export { Closed, type RequestError, type RequestOptions, Timeout } from "./internal/outbound.ts"

/** A request and the way back to its asker: all that it takes to answer. */
export interface Asked {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  /** Set when the asker wants no answer any more: nothing is to be sent for the request from then on. */
  cancelled?: boolean
}

/** What a peer's request handler is given. */
export interface Exchange extends Asked {
  readonly peer: Peer
}

/** What the two roles plug in. All of it runs without requirements: a role captures its own context. */
export interface Handlers {
  /** Runs in a fiber of its own, unless it is done already. Its success is the wire result; a defect answers -32603 without details. */
  readonly request: (exchange: Exchange) => Effect.Effect<unknown, McpError.McpError>
  /** Called in the reader, in order of arrival; must not block. `progress` never gets here, `cancelled` only about a request of ours. */
  readonly notification: (notification: JsonRpc.Notification, envelope: Envelope, peer: Peer) => void
  /** Answers in the reader, before permits: for ping. `undefined` leaves the request to `request`. */
  readonly immediate?: ((request: JsonRpc.Request) => unknown) | undefined
  /** Told of a request that its sender cancelled, and why if it said so. */
  readonly cancelled?: ((request: JsonRpc.Request, reason: unknown) => void) | undefined
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
  /** Nothing is read and nothing is watched: all that arrives comes by `receive`. Costs no fiber. Default false. */
  readonly passive?: boolean | undefined
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
  const permits = options.inFlight ?? 64
  const maxPending = options.pending ?? 1024
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const runFork = Effect.runForkWith(context)
  const running = new Map<JsonRpc.Id, Running>()
  const pending = new Map<JsonRpc.Id, Running>()
  const idleWaiters = new Set<Deferred.Deferred<void>>()
  const closed = Deferred.makeUnsafe<void, TransportError>()
  const aborted = Deferred.makeUnsafe<never, TransportError>()
  const outbound = new Outbound.Outbound(transport.sink, clock)
  let closing = false
  let standing = 0
  /** Requests that hold a permit. */
  const busy = (): number => running.size - standing

  const settle = (entry: Running, exit: Exit.Exit<unknown, McpError.McpError>): void => {
    const { request, sink } = entry.exchange
    running.delete(request.id)
    if (entry.stands) standing--
    if (entry.ended === "cancelled") sink.discard?.(request.id)
    else answer(sink, response(request.id, entry.ended?.reason, exit))
    startPending()
    if (busy() === 0) for (const waiter of idleWaiters) Deferred.doneUnsafe(waiter, Exit.void)
  }

  // A loop, not a recursion of handlers that complete at once.
  let starting = false
  const startPending = (): void => {
    if (starting) return
    starting = true
    for (const [id, next] of pending) {
      if (busy() >= permits) break
      pending.delete(id)
      start(next)
    }
    starting = false
  }

  const handle = (exchange: Exchange): Effect.Effect<unknown, McpError.McpError> => {
    try {
      return handlers.request(exchange)
    } catch (defect) {
      return Effect.die(defect)
    }
  }

  const start = (entry: Running): void => {
    // Registered before it runs: the handler starts inside this very call.
    running.set(entry.exchange.request.id, entry)
    if (entry.stands) standing++
    const answer = handle(entry.exchange)
    // What is answered already needs no fiber.
    const done = exitOf(answer)
    if (done !== undefined) return settle(entry, done)
    entry.fiber = runFork(answer)
    if (entry.ended !== undefined) entry.fiber.interruptUnsafe()
    entry.fiber.addObserver((exit) => settle(entry, exit))
  }

  const refuse = (request: JsonRpc.Request, sink: Sink, error: McpError.McpError): void =>
    sink.send(JsonRpc.failure(request.id, error), "control", request.id)

  const receiveRequest = (request: JsonRpc.Request, envelope: Envelope, sink: Sink): void => {
    if (running.has(request.id) || pending.has(request.id)) {
      // Ids are unique per sender; a second use must never disturb the first.
      sink.discard?.(request.id)
      return handlers.dropped?.(`Request id ${JSON.stringify(request.id)} is already in flight`)
    }
    const answer = handlers.immediate?.(request)
    if (answer !== undefined) return sink.send(JsonRpc.success(request.id, answer), "control", request.id)
    const exchange: Exchange = { request, envelope, sink, peer }
    const stands = options.standing?.(request) === true
    const since = clock.currentTimeMillisUnsafe()
    const entry: Running = { exchange, since, stands, fiber: undefined, ended: undefined }
    if (stands ? standing < maxPending : busy() < permits) return start(entry)
    if (!stands && pending.size < maxPending) return void pending.set(request.id, entry)
    refuse(request, sink, McpError.limitExceeded(`More than ${permits + maxPending} requests are in flight`))
  }

  const end = (entry: Running, ended: Exclude<Running["ended"], undefined>): void => {
    if (ended === "cancelled") entry.exchange.cancelled = true
    if (entry.ended !== undefined) {
      // Who wants no answer any more gets none, whatever ended the request first.
      if (ended === "cancelled") entry.ended = ended
      return
    }
    entry.ended = ended
    const { request, sink } = entry.exchange
    if (pending.delete(request.id)) {
      return ended === "cancelled"
        ? sink.discard?.(request.id)
        : refuse(request, sink, McpError.interrupted(ended.reason))
    }
    // A signal, never an await: finalizers must not stall the reader.
    entry.fiber?.interruptUnsafe()
  }

  const receiveNotification = (notification: JsonRpc.Notification, envelope: Envelope): void => {
    const params = notification.params
    if (notification.method === "notifications/cancelled") {
      const id = params?.requestId
      const entry = JsonRpc.isId(id) ? (running.get(id) ?? pending.get(id)) : undefined
      // One of ours may be meant: the end of a subscription (2026-07-28).
      if (entry === undefined) return outbound.has(id) ? handlers.notification(notification, envelope, peer) : undefined
      // Initialization cannot be cancelled.
      if (entry.exchange.request.method === "initialize") return
      handlers.cancelled?.(entry.exchange.request, params?.reason)
      return end(entry, "cancelled")
    }
    if (notification.method === "notifications/progress") return outbound.progress(params)
    handlers.notification(notification, envelope, peer)
  }

  const receiveMessage = (message: JsonRpc.Message, envelope: Envelope, sink: Sink): void => {
    if (JsonRpc.isResponse(message)) {
      if (!outbound.answer(message)) handlers.dropped?.(`An answer to no request: ${JSON.stringify(message.id)}`)
    } else if (JsonRpc.isRequest(message)) receiveRequest(message, envelope, sink)
    else receiveNotification(message, envelope)
  }

  const unreadable = (id: JsonRpc.Id | undefined, error: McpError.McpError, sink: Sink): void =>
    sink.send(JsonRpc.failure(id ?? options.unreadableId?.(), error), "control")

  const receiveSingle = (single: Single, sink: Sink): void => {
    if (single._tag === "Message") return receiveMessage(single.message, single.envelope, sink)
    if (!single.response) return unreadable(single.id, single.error, sink)
    // An answer is never answered, not even with an error.
    if (single.id === undefined || !outbound.fail(single.id, single.error)) handlers.dropped?.(single.error.message)
  }

  const receiveBatch = (members: ReadonlyArray<Single>, sink: Sink): void => {
    const refused = refuseBatch(members.length, options.batches?.() === true, permits + maxPending)
    if (refused !== undefined) return unreadable(undefined, refused, sink)
    collectBatch(members, sink, receiveSingle)
  }

  const receive = (inbound: Inbound, sink: Sink = transport.sink): void => {
    if (closing) return
    if (inbound._tag === "Batch") return receiveBatch(inbound.members, sink)
    if (inbound._tag !== "Unanswered") return receiveSingle(inbound, sink)
    const { error: cause, id, unsent } = inbound
    outbound.fail(id, new Outbound.Closed({ message: cause.message, cause, unsent }))
  }

  const peer: Peer = {
    receive,
    request: (method, params, options) => outbound.request(method, params, options),
    notify: (method, params, relatedTo) => transport.sink.send(JsonRpc.notification(method, params), "data", relatedTo),
    sink: transport.sink,
    inFlight: Effect.sync(() => [...view(running, "running"), ...view(pending, "pending")]),
    outstanding: () => outbound.size,
    interrupt: (reason, id) => {
      const entries =
        id === undefined ? [...pending.values(), ...running.values()] : [running.get(id) ?? pending.get(id)]
      for (const entry of entries) if (entry !== undefined) end(entry, { reason })
    },
    abort: (error) => {
      if (options.passive === true) runFork(close(Exit.fail(error)))
      else Deferred.doneUnsafe(aborted, Effect.fail(error))
    },
    idle: Effect.suspend(() => {
      if (busy() === 0 && pending.size === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      idleWaiters.add(waiter)
      return Effect.ensuring(
        Deferred.await(waiter),
        Effect.sync(() => idleWaiters.delete(waiter))
      )
    }),
    awaitClosed: Deferred.await(closed)
  }

  const close = (exit: Exit.Exit<void, TransportError>): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!closing) options.ended?.()
      closing = true
      // Closing the scope is an end in order, though it interrupts the reader.
      const inOrder = Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
      // First, so that whoever hears of the end finds that nothing can be sent any more.
      outbound.close(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined)
      Deferred.doneUnsafe(closed, inOrder ? Exit.void : exit)
      peer.interrupt("The connection is closing")
      return Fiber.awaitAll([...running.values()].flatMap((entry) => entry.fiber ?? []))
    })
  // No answer can arrive any more, but ours may still leave.
  const finish = Effect.suspend(() => {
    outbound.close(undefined)
    return options.grace === undefined ? Effect.void : Effect.ignore(Effect.timeoutOption(peer.idle, options.grace))
  })
  yield* Effect.addFinalizer(() => close(Exit.void))
  if (options.passive === true) return peer
  yield* transport.incoming.pipe(
    Stream.runForEachArray((batch) => Effect.sync(() => batch.forEach((inbound) => receive(inbound)))),
    Effect.andThen(finish),
    Effect.raceFirst(Effect.raceFirst(transport.broken, Deferred.await(aborted))),
    Effect.onExit(close),
    Effect.exit,
    Effect.forkScoped
  )
  return peer
})
