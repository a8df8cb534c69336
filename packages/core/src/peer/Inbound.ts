/**
 * The state machine of a peer: which requests of the other side run and wait, and what becomes of each message.
 *
 * All of it is synchronous. Little is made before it is needed: a server may hold many conversations in which nothing happens.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { BusyMap } from "../internal/BusyMap.ts"
import { attempt, exitOf } from "../internal/eager.ts"
import type { Handlers, Options } from "./Peer.ts"
import type { Envelope, Inbound, Single, Sink, TransportError } from "../transport/Transport.ts"
import { answer, response } from "./answer.ts"
import { collectBatch, refuseBatch } from "./batch.ts"
import * as CancelReason from "./CancelReason.ts"
import { Closed, Outbound, type RequestError, type RequestOptions } from "./Outbound.ts"
import { type InFlight, type Registrar, Running, view } from "./InboundRequest.ts"

/** Nothing is ever put into it. */
const none = new BusyMap<JsonRpc.Id, Running>()

/** An id as an error shows it; a failure may have none. */
const nameOf = (id: JsonRpc.Id | null | undefined): string =>
  id === undefined ? "undefined" : excerpt(JSON.stringify(id))

export class Actor implements Registrar {
  readonly sink: Sink
  private readonly handlers: Handlers
  private readonly options: Options
  private readonly clock: Clock.Clock
  private readonly runFork: (
    effect: Effect.Effect<unknown, McpError.McpError>
  ) => Fiber.Fiber<unknown, McpError.McpError>
  private readonly outbound: Outbound
  /** `none` while nothing runs: an empty Map is a good part of an idle conversation. */
  private running: BusyMap<JsonRpc.Id, Running> = none
  private pending: Map<JsonRpc.Id, Running> | undefined = undefined
  private idleWaiters: Set<Deferred.Deferred<void>> | undefined = undefined
  private readonly closed = Deferred.makeUnsafe<void, TransportError>()
  private closing = false
  private starting = false
  private standing = 0
  /** What `abort` does where somebody reads the wire. */
  stopReading: ((error: TransportError) => void) | undefined = undefined

  constructor(sink: Sink, handlers: Handlers, options: Options, clock: Clock.Clock, runFork: Actor["runFork"]) {
    this.sink = sink
    this.handlers = handlers
    this.options = options
    this.clock = clock
    this.runFork = runFork
    this.outbound = new Outbound(sink, clock, runFork)
  }

  private get permits(): number {
    return this.options.inFlight ?? 64
  }

  private get maxPending(): number {
    return this.options.pending ?? 1024
  }

  private get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  /** Requests that hold a permit. */
  private get busy(): number {
    return this.running.size - this.standing
  }

  private get isIdle(): boolean {
    return this.busy === 0 && (this.pending?.size ?? 0) === 0
  }

  private find(id: JsonRpc.Id): Running | undefined {
    return this.running.get(id) ?? this.pending?.get(id)
  }

  // ---- requests of the other side

  private settle(entry: Running, exit: Exit.Exit<unknown, McpError.McpError>): void {
    const { request, sink } = entry
    this.running.delete(request.id)
    if (this.running.size === 0) this.running = none
    if (entry.stands) this.standing--
    if (entry.ended === "cancelled") sink.discard?.(request.id)
    else answer(sink, response(request.id, entry.ended?.reason, exit))
    this.startPending()
    if (this.isIdle) for (const waiter of this.idleWaiters ?? []) Deferred.doneUnsafe(waiter, Exit.void)
  }

  // A loop, not a recursion of handlers that complete at once.
  private startPending(): void {
    if (this.starting || this.pending === undefined) return
    this.starting = true
    for (const [id, next] of this.pending) {
      if (this.busy >= this.permits) break
      this.pending.delete(id)
      this.start(next)
    }
    this.starting = false
  }

  /** Registered before anything of it runs: the handler may start, and end, inside `handlers.request`. */
  register(entry: Running): void {
    if (entry.registered) return
    entry.registered = true
    if (this.running === none) this.running = new BusyMap()
    this.running.set(entry.request.id, entry)
    if (entry.stands) this.standing++
  }

  private start(entry: Running): void {
    const effect = attempt(() => this.handlers.request(entry))
    const done = exitOf(effect)
    if (done !== undefined) {
      if (entry.registered) return this.settle(entry, done)
      // What needed no fiber nobody could have heard of.
      return answer(entry.sink, response(entry.request.id, undefined, done))
    }
    this.register(entry)
    entry.since ??= this.now
    entry.fiber = this.runFork(effect)
    if (entry.ended !== undefined) entry.fiber.interruptUnsafe()
    entry.fiber.addObserver((exit) => this.settle(entry, exit))
  }

  private refuse(request: JsonRpc.Request, sink: Sink, error: McpError.McpError): void {
    sink.send(JsonRpc.failure(request.id, error), "control", request.id)
  }

  private receiveRequest(request: JsonRpc.Request, envelope: Envelope, sink: Sink): void {
    const { handlers, maxPending, options, permits } = this
    if (this.find(request.id) !== undefined) {
      // Ids are unique per sender; a second use must never disturb the first.
      sink.discard?.(request.id)
      return handlers.dropped?.(`Request id ${nameOf(request.id)} is already in flight`)
    }
    const answer = handlers.immediate?.(request)
    if (answer !== undefined) return sink.send(JsonRpc.success(request.id, answer), "control", request.id)
    const stands = options.standing?.(request) === true
    const entry = new Running(request, envelope, sink, this, stands)
    if (stands ? this.standing < maxPending : this.busy < permits) return this.start(entry)
    this.pending ??= new Map()
    if (!stands && this.pending.size < maxPending) {
      entry.since = this.now
      this.pending.set(request.id, entry)
      return
    }
    this.refuse(request, sink, McpError.limitExceeded(`More than ${permits + maxPending} requests are in flight`))
  }

  private end(entry: Running, ended: Exclude<Running["ended"], undefined>, reason: string | undefined): void {
    if (ended === "cancelled") entry.cancelled = true
    if (entry.ended !== undefined) {
      // Who wants no answer any more gets none, whatever ended the request first.
      if (ended === "cancelled") entry.ended = ended
      return
    }
    entry.ended = ended
    const { request, sink } = entry
    if (this.pending?.delete(request.id) === true) {
      return ended === "cancelled"
        ? sink.discard?.(request.id)
        : this.refuse(request, sink, McpError.interrupted(ended.reason))
    }
    // A signal, never an await: finalizers must not stall the reader.
    entry.fiber?.interruptUnsafe(undefined, reason === undefined ? undefined : CancelReason.annotation(reason))
  }

  // ---- what arrives

  private receiveNotification(notification: JsonRpc.Notification, envelope: Envelope): void {
    const { handlers, outbound } = this
    const params = notification.params
    if (notification.method === "notifications/cancelled") {
      const id = params?.requestId
      const entry = JsonRpc.isId(id) ? this.find(id) : undefined
      // One of ours may be meant: the end of a subscription (2026-07-28).
      if (entry === undefined) return outbound.has(id) ? handlers.notification(notification, envelope, this) : undefined
      // Initialization cannot be cancelled.
      if (entry.request.method === "initialize") return
      const reason = typeof params?.reason === "string" ? excerpt(params.reason) : undefined
      this.end(entry, "cancelled", reason)
      return handlers.cancelled?.(entry.request, reason)
    }
    if (notification.method === "notifications/progress") return outbound.progress(params)
    handlers.notification(notification, envelope, this)
  }

  private receiveMessage(message: JsonRpc.Message, envelope: Envelope, sink: Sink): void {
    if (JsonRpc.isResponse(message)) {
      if (!this.outbound.answer(message)) {
        this.handlers.dropped?.(`An answer to no request: ${nameOf(message.id)}`)
      }
    } else if (JsonRpc.isRequest(message)) this.receiveRequest(message, envelope, sink)
    else this.receiveNotification(message, envelope)
  }

  private unreadable(id: JsonRpc.Id | undefined, error: McpError.McpError, sink: Sink): void {
    sink.send(JsonRpc.failure(id ?? this.options.unreadableId?.(), error), "control")
  }

  private receiveSingle(single: Single, sink: Sink): void {
    if (single._tag === "Message") return this.receiveMessage(single.message, single.envelope, single.replyTo ?? sink)
    if (!single.response) return this.unreadable(single.id, single.error, sink)
    // An answer is never answered, not even with an error.
    if (single.id === undefined || !this.outbound.fail(single.id, single.error)) {
      this.handlers.dropped?.(single.error.message)
    }
  }

  private receiveBatch(members: ReadonlyArray<Single>, sink: Sink): void {
    const refused = refuseBatch(members.length, this.options.batches?.() === true, this.permits + this.maxPending)
    if (refused !== undefined) return this.unreadable(undefined, refused, sink)
    collectBatch(members, sink, (member, collecting) => this.receiveSingle(member, collecting))
  }

  receive(inbound: Inbound, sink: Sink = this.sink): void {
    if (this.closing) return
    if (inbound._tag === "Batch") return this.receiveBatch(inbound.members, sink)
    if (inbound._tag !== "Unanswered") return this.receiveSingle(inbound, sink)
    const { error: cause, id, unsent } = inbound
    this.outbound.fail(id, new Closed({ message: cause.message, cause, unsent }))
  }

  // ---- what leaves

  request(method: string, params?: JsonRpc.Params, options?: RequestOptions): Effect.Effect<unknown, RequestError> {
    return this.outbound.request(method, params, options)
  }

  notify(method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id): void {
    this.sink.send(JsonRpc.notification(method, params), "data", relatedTo)
  }

  outstanding(): number {
    return this.outbound.size
  }

  get inFlight(): Effect.Effect<ReadonlyArray<InFlight>> {
    return Effect.sync(() => [
      ...view(this.running.values(), "running", this.now),
      ...view(this.pending?.values() ?? [], "pending", this.now)
    ])
  }

  // ---- its end

  interrupt(reason: string, id?: JsonRpc.Id): void {
    const entries = id === undefined ? [...(this.pending?.values() ?? []), ...this.running.values()] : [this.find(id)]
    for (const entry of entries) if (entry !== undefined) this.end(entry, { reason }, reason)
  }

  abort(error: TransportError): void {
    if (this.stopReading === undefined) this.runFork(this.close(Exit.fail(error)))
    else this.stopReading(error)
  }

  get idle(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isIdle) return Effect.void
      const waiters = (this.idleWaiters ??= new Set())
      const waiter = Deferred.makeUnsafe<void>()
      waiters.add(waiter)
      return Effect.ensuring(
        Deferred.await(waiter),
        Effect.sync(() => waiters.delete(waiter))
      )
    })
  }

  get awaitClosed(): Effect.Effect<void, TransportError> {
    return Deferred.await(this.closed)
  }

  /** No answer can arrive any more, but ours may still leave. */
  get finish(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { grace } = this.options
      this.outbound.close(undefined)
      return grace === undefined ? Effect.void : Effect.ignore(Effect.timeoutOption(this.idle, grace))
    })
  }

  /** Interrupts what runs and waits for it; fails what is outstanding. */
  close(exit: Exit.Exit<void, TransportError>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.closing) this.options.ended?.()
      this.closing = true
      // Closing the scope is an end in order, though it interrupts the reader.
      const inOrder = Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
      // First, so that whoever hears of the end finds that nothing can be sent any more.
      this.outbound.close(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined)
      Deferred.doneUnsafe(this.closed, inOrder ? Exit.void : exit)
      this.interrupt("The connection is closing")
      return Effect.asVoid(Fiber.awaitAll(this.running.values().flatMap((entry) => entry.fiber ?? [])))
    })
  }
}
