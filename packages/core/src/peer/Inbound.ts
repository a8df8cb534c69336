/**
 * Requests from the other peer. Tracks which requests are running or waiting for a permit, how each one ends, and whether it receives a
 * response.
 *
 * All operations are synchronous. Tables are created on first use, because a server may have many idle connections.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { beginning, excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { BusyMap } from "../internal/BusyMap.ts"
import { callback } from "../internal/callback.ts"
import { attempt, exitOf } from "../internal/eager.ts"
import type { Envelope, Sink } from "../transport/Transport.ts"
import { answer, response } from "./answer.ts"
import * as CancelReason from "./CancelReason.ts"
import { InboundRequest } from "./InboundRequest.ts"
import type { PeerHandlers, Options, Peer, ReceivedEnd } from "./types.ts"

const uninterruptible: Effect.RunOptions = { uninterruptible: true }

/**
 * Maximum total size of requests waiting for a permit, in characters of JSON. All of them come from the same peer, so there are no limits
 * per caller. Over HTTP, the endpoint also limits request bodies per caller.
 */
const maxPendingSize = 64 * 1024 * 1024

const sizeOf = (request: JsonRpc.Request): number => JSON.stringify(request).length

/** Stays empty. */
const none = new BusyMap<JsonRpc.Id, InboundRequest>()

/** Formats an ID for an error message. An error response may have no ID. */
export const nameOf = (id: JsonRpc.Id | null | undefined): string =>
  id === undefined ? "undefined" : excerpt(JSON.stringify(id))

/** Starts a fiber. It runs until it first suspends before this function returns. */
export type RunFork = (
  effect: Effect.Effect<unknown, McpError.McpError>,
  options?: Effect.RunOptions
) => Fiber.Fiber<unknown, McpError.McpError>

/** Waits for requests to end. */
interface Waiter {
  readonly isDone: () => boolean
  readonly latch: Deferred.Deferred<void>
}

export class InboundRequests {
  private readonly peer: Peer
  private readonly handlers: PeerHandlers
  private readonly options: Options
  private readonly clock: Clock.Clock
  private readonly runFork: RunFork
  /** `none` while no request is running, because an empty Map would be a large part of an idle connection's memory. */
  private running: BusyMap<JsonRpc.Id, InboundRequest> = none
  private pending: Map<JsonRpc.Id, InboundRequest> | undefined = undefined
  /** Total size of the requests in `pending`. */
  private pendingSize = 0
  private waiters: Set<Waiter> | undefined = undefined
  private starting = false
  private subscriptions = 0

  constructor(peer: Peer, handlers: PeerHandlers, options: Options, clock: Clock.Clock, runFork: RunFork) {
    this.peer = peer
    this.handlers = handlers
    this.options = options
    this.clock = clock
    this.runFork = runFork
  }

  private get permits(): number {
    return this.options.inFlight ?? 64
  }

  private get maxPending(): number {
    return this.options.pending ?? 1024
  }

  /** Maximum number of requests in flight, not counting subscriptions. */
  get limit(): number {
    return this.permits + this.maxPending
  }

  private get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  /** Number of requests that have a permit. */
  private get busy(): number {
    return this.running.size - this.subscriptions
  }

  private get isIdle(): boolean {
    return this.busy === 0 && (this.pending?.size ?? 0) === 0
  }

  private find(id: JsonRpc.Id): InboundRequest | undefined {
    return this.running.get(id) ?? this.pending?.get(id)
  }

  // ---- receiving and responding

  receive(request: JsonRpc.Request, envelope: Envelope, sink: Sink): void {
    const { handlers, maxPending, options, permits } = this
    const { observer } = handlers
    const arrived = observer === undefined ? 0 : observer.now()
    if (this.find(request.id) !== undefined) {
      // IDs are unique per sender. Reusing one must never disturb the first request.
      sink.noAnswer?.(request.id)
      return handlers.dropped?.(`Request id ${nameOf(request.id)} is already in flight`)
    }
    const result = handlers.immediate?.(request)
    if (result !== undefined) {
      sink.send(JsonRpc.success(request.id, result), "control", request.id)
      return this.observed({ request, envelope, arrived, waited: 0 }, Exit.succeed(result))
    }
    const isSubscription = options.isSubscription?.(request) === true
    const entry = new InboundRequest(request, envelope, sink, this.peer, isSubscription)
    entry.arrived = arrived
    if (isSubscription ? this.subscriptions < maxPending : this.busy < permits) return this.start(entry)
    this.pending ??= new Map()
    if (!isSubscription && this.pending.size < maxPending) {
      entry.size = sizeOf(request)
      if (this.pendingSize + entry.size > maxPendingSize) {
        return this.refuse(
          entry,
          McpError.limitExceeded(`Too many bytes of requests are waiting (limit ${maxPendingSize})`)
        )
      }
      entry.since = this.now
      this.pendingSize += entry.size
      this.pending.set(request.id, entry)
      return handlers.changed?.()
    }
    this.refuse(entry, McpError.limitExceeded(`Too many requests are in flight (limit ${this.limit})`))
  }

  private start(entry: InboundRequest): void {
    const effect = attempt(() => this.handlers.request(entry))
    const done = exitOf(effect)
    if (done !== undefined) {
      // The response is sent within the call that delivered the request, so it can't have been cancelled.
      answer(entry.sink, response(entry.request.id, undefined, done))
      return this.observed(entry, done)
    }
    // A handler can be cancelled from its first step on.
    this.register(entry)
    entry.fiber = this.runFork(effect, this.handlers.masksInterruption === true ? uninterruptible : undefined)
    if (entry.fiber.pollUnsafe() === undefined) entry.since ??= this.now
    if (entry.ended !== undefined) entry.fiber.interruptUnsafe()
    entry.fiber.addObserver((exit) => this.settle(entry, exit))
  }

  private register(entry: InboundRequest): void {
    entry.registered = true
    if (this.running === none) this.running = new BusyMap()
    this.running.set(entry.request.id, entry)
    if (entry.isSubscription) this.subscriptions++
    this.handlers.changed?.()
  }

  private settle(entry: InboundRequest, exit: Exit.Exit<unknown, McpError.McpError>): void {
    const { ended, request, sink } = entry
    this.running.delete(request.id)
    if (this.running.size === 0) this.running = none
    if (entry.isSubscription) this.subscriptions--
    if (ended === "cancelled") sink.noAnswer?.(request.id)
    else answer(sink, this.ending(entry, exit) ?? response(request.id, ended?.reason, exit))
    this.observed(entry, exit)
    this.handlers.changed?.()
    this.startPending()
    if (this.waiters === undefined) return
    for (const { isDone, latch } of this.waiters) if (isDone()) Deferred.doneUnsafe(latch, Exit.void)
  }

  /** Returns the response for a subscription this peer has interrupted, or `undefined` for any other request. */
  private ending(
    { ended, isSubscription, request }: InboundRequest,
    exit: Exit.Exit<unknown, McpError.McpError>
  ): JsonRpc.Response | undefined {
    if (!isSubscription || ended === undefined || Exit.isSuccess(exit) || !Cause.hasInterruptsOnly(exit.cause)) {
      return undefined
    }
    const result = this.handlers.subscriptionEnded?.(request)
    return result === undefined ? undefined : JsonRpc.success(request.id, result)
  }

  // A loop instead of recursion, because handlers may complete immediately.
  private startPending(): void {
    if (this.starting || this.pending === undefined) return
    this.starting = true
    for (const [id, next] of this.pending) {
      if (this.busy >= this.permits) break
      this.pending.delete(id)
      this.pendingSize -= next.size
      const { observer } = this.handlers
      if (observer !== undefined) next.waited = observer.now() - next.arrived
      this.start(next)
    }
    this.starting = false
  }

  private observed(end: ReceivedEnd, exit: Exit.Exit<unknown, McpError.McpError>): void {
    const { observer } = this.handlers
    if (observer !== undefined) {
      callback("An observer of requests", this.runFork, () => observer.received(end, exit, this.peer))
    }
  }

  private refuse(entry: InboundRequest, error: McpError.McpError): void {
    const { request, sink } = entry
    sink.send(JsonRpc.failure(request.id, error), "control", request.id)
    this.observed(entry, Exit.fail(error))
  }

  // ---- cancellation and interruption

  /** Ends the request named in a cancellation. Returns false if there is no such request. */
  cancel(params: JsonRpc.Params | undefined): boolean {
    const id = params?.requestId
    const entry = JsonRpc.isId(id) ? this.find(id) : undefined
    if (entry === undefined) return false
    // Initialization can't be cancelled.
    if (entry.request.method === "initialize") return true
    const reason = typeof params?.reason === "string" ? beginning(params.reason) : undefined
    this.end(entry, "cancelled", reason)
    this.handlers.cancelled?.(entry.request, reason)
    return true
  }

  /** Interrupts one request, or all requests. Returns false if there was nothing to interrupt. */
  interrupt(reason: string, id?: JsonRpc.Id): boolean {
    const all = id === undefined ? [...(this.pending?.values() ?? []), ...this.running.values()] : [this.find(id)]
    const entries = all.filter((entry) => entry !== undefined)
    for (const entry of entries) this.end(entry, { reason }, reason)
    return entries.length > 0
  }

  private end(entry: InboundRequest, ended: Exclude<InboundRequest["ended"], undefined>, reason: string | undefined) {
    if (ended === "cancelled") entry.cancelled = true
    if (entry.ended !== undefined) {
      // A cancelled request receives no response, even if something else interrupted it first.
      if (ended === "cancelled") entry.ended = ended
      return
    }
    entry.ended = ended
    const { request, sink } = entry
    if (this.pending?.delete(request.id) === true) {
      this.pendingSize -= entry.size
      if (ended !== "cancelled") this.refuse(entry, McpError.interrupted(ended.reason))
      else {
        sink.noAnswer?.(request.id)
        this.observed(entry, Exit.interrupt())
      }
      return this.handlers.changed?.()
    }
    // Doesn't wait, because finalizers must not block the reader.
    entry.fiber?.interruptUnsafe(undefined, reason === undefined ? undefined : CancelReason.annotation(reason))
  }

  // ---- views and waiting

  /** Running requests, followed by requests waiting for a permit. */
  get open(): ReadonlyArray<InboundRequest> {
    return [...this.running.values(), ...(this.pending?.values() ?? [])]
  }

  /** Waits until no request is running or waiting. Subscriptions don't count. */
  get idle(): Effect.Effect<void> {
    return this.until(() => this.isIdle)
  }

  /** Waits until no subscription is open. By then, each one has received its response. */
  get subscriptionsEnded(): Effect.Effect<void> {
    return this.until(() => this.subscriptions === 0)
  }

  private until(isDone: () => boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (isDone()) return Effect.void
      const waiters = (this.waiters ??= new Set())
      const waiter: Waiter = { isDone, latch: Deferred.makeUnsafe() }
      waiters.add(waiter)
      return Effect.ensuring(
        Deferred.await(waiter.latch),
        Effect.sync(() => waiters.delete(waiter))
      )
    })
  }

  /** Waits for the fibers that are currently running. */
  get awaitFibers(): Effect.Effect<void> {
    return Effect.asVoid(Fiber.awaitAll(this.running.values().flatMap((entry) => entry.fiber ?? [])))
  }
}
