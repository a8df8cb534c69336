/**
 * The HTTP exchanges of an endpoint that are open: their limits, and how they end at a shutdown.
 *
 * Owns the counts of POSTs, subscriptions and bodies that are still arriving, per endpoint and per caller. Refuses to read a message.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { Deadlines, type Entries, type Fork } from "@effect-mcp/core/internal/Deadlines"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type ErrorResponse, tooMany } from "../response/Responses.ts"
import { HttpExchange } from "./HttpExchange.ts"
import type { HttpRequest } from "./HttpRequest.ts"

export interface RequestLimits {
  /**
   * Requests at once. Default 1024; one more is answered by 429. As many bodies may be arriving at once: for one more, a slow one is
   * cut off.
   */
  readonly inFlight?: number | undefined
  /**
   * How much of `inFlight` and of `subscriptions` one caller may take, from 0 to 1: a principal, or else an address. Default 0.5. Behind
   * a proxy all callers without a principal have one address; where no address is known, as on Workers, they are not limited.
   */
  readonly callerShare?: number | undefined
  /** Subscriptions (2026-07-28) that are open at once, beside `inFlight`. Default 1024; one more is answered by 429. */
  readonly subscriptions?: number | undefined
  /** How long a body may take to arrive; at most twice as long passes until it is cut off. Default 30 seconds. */
  readonly bodyTimeout?: Duration.Input | undefined
}

export class InFlightRequests implements Entries {
  readonly inFlight: number
  readonly subscriptions: number
  private readonly share: number
  private readonly bodyTimeout: number
  /** The POSTs that are open. */
  private readonly posts = new BusyMap<HttpExchange, HttpExchange>()
  /** The other exchanges that are open: neither limited, nor waited for at a shutdown. */
  private readonly others = new Set<HttpExchange>()
  /** How many of `posts` are subscriptions. */
  private subscribed = 0
  /** How many of `posts` wait for their bodies. */
  private reading = 0
  /** Requests that run although their POST has ended. */
  private away = 0
  /** `away` by caller; no entry is 0. */
  private readonly awayOf = new Map<string, number>()
  /** Watches the bodies that are arriving, in rounds of `bodyTimeout`. */
  private readonly bodies: Deadlines
  private readonly closed = Deferred.makeUnsafe<void>()
  private readonly noPosts = Deferred.makeUnsafe<void>()
  private readonly noExchanges = Deferred.makeUnsafe<void>()
  /** Completes when the endpoint is about to end: subscriptions then end by themselves. */
  readonly closing: Effect.Effect<void> = Deferred.await(this.closed)
  /** Waits until no POST is open, once it is closed. */
  readonly settled: Effect.Effect<void> = Deferred.await(this.noPosts)
  /** Waits until no response is open, once it is closed. */
  readonly silent: Effect.Effect<void> = Deferred.await(this.noExchanges)
  /** Whether `close` was called; never false again. */
  draining = false
  private readonly drain: { readonly isDraining: boolean }

  /** `fork` runs an effect in the scope of the endpoint. `drain` is that of the server. */
  constructor(limits: RequestLimits, clock: Clock.Clock, fork: Fork, drain: { readonly isDraining: boolean }) {
    const { bodyTimeout = "30 seconds", callerShare = 0.5, inFlight = 1024, subscriptions = 1024 } = limits
    this.share = callerShare
    this.drain = drain
    this.inFlight = inFlight
    this.subscriptions = subscriptions
    this.bodyTimeout = Duration.toMillis(Duration.fromInputUnsafe(bodyTimeout))
    this.bodies = new Deadlines(clock, fork, this)
  }

  /** Whether new sessions, and requests without one, are let in. */
  get admits(): boolean {
    return !this.draining && !this.drain.isDraining
  }

  // ---- exchanges

  /** Begins a POST whose body is still to arrive. Where too many bodies are arriving, a slow one is cut off. */
  enter(cut: () => void, http: HttpRequest): HttpExchange {
    if (this.reading >= this.inFlight) this.cutSlowest()
    const exchange = new HttpExchange(cut, http)
    this.posts.set(exchange, exchange)
    this.reading++
    this.bodies.begin(this.bodyTimeout)
    return exchange
  }

  /** Begins an exchange of another method. */
  open(cut: () => void): HttpExchange {
    const exchange = new HttpExchange(cut, undefined)
    // Its body is not counted in `reading`.
    exchange.reading = undefined
    this.others.add(exchange)
    return exchange
  }

  /** The whole body has arrived. */
  arrived(exchange: HttpExchange): void {
    if (exchange.reading === undefined) return
    exchange.reading = undefined
    this.reading--
  }

  /** The response was written or cut off. A second call does nothing. */
  leave(exchange: HttpExchange): void {
    if (!this.posts.delete(exchange) && !this.others.delete(exchange)) return
    if (exchange.isSubscription) this.subscribed--
    this.arrived(exchange)
    exchange.end()
    this.complete()
  }

  /** A request runs on though its POST has ended (1), or has ended after that (-1). */
  leftBehind(change: 1 | -1, caller: string): void {
    this.away += change
    const count = (this.awayOf.get(caller) ?? 0) + change
    if (count > 0) this.awayOf.set(caller, count)
    else this.awayOf.delete(caller)
  }

  // ---- bodies that arrive slowly

  /** Cuts off the body that has been arriving for longest, of the caller with most of them. */
  private cutSlowest(): void {
    const slow = slowestOf(this.posts.values().filter(({ reading }) => reading !== undefined))
    if (slow === undefined) return
    const { cut } = slow
    this.leave(slow)
    cut()
  }

  /** A body is cut off in the second round that finds it arriving. */
  look(now: number): number {
    for (const post of this.posts.values()) if (post.reading !== undefined && ++post.reading > 1) post.cut()
    return this.posts.size > 0 ? now + this.bodyTimeout : Infinity
  }

  // ---- limits

  /** The POSTs whose bodies have arrived and that are no subscriptions. */
  private get here(): number {
    return this.posts.size - this.subscribed - this.reading
  }

  private shareOf(limit: number): number {
    return Math.ceil(limit * this.share)
  }

  /** POSTs of one caller that are subscriptions, or that are none. */
  private countOf(caller: string, isSubscription: boolean): number {
    const own = this.posts
      .values()
      .filter((post) => post.isSubscription === isSubscription && post.reading === undefined)
    return own.filter((post) => post.caller === caller).length
  }

  /** The error response where the request is one too many of all, or of its caller. Callers are counted only above their share. */
  busy(exchange: HttpExchange, id: JsonRpc.Id | undefined): ErrorResponse | undefined {
    const running = this.here + this.away
    if (running > this.inFlight) return tooMany("requests are in flight", this.inFlight, id)
    const limit = this.shareOf(this.inFlight)
    if (running <= limit || exchange.caller === "") return undefined
    const own = this.countOf(exchange.caller, false) + (this.awayOf.get(exchange.caller) ?? 0)
    return own > limit ? tooMany("requests of this caller are in flight", limit, id) : undefined
  }

  /** Whether not even a body is to be read. Responses to questions have as much room again as requests. */
  get crowded(): boolean {
    return this.here >= this.inFlight * 2
  }

  /** Counts the POST as a subscription; the error response where it is one too many. */
  subscribe(exchange: HttpExchange, id: JsonRpc.Id): ErrorResponse | undefined {
    if (this.subscribed >= this.subscriptions) return tooMany("subscriptions are open", this.subscriptions, id)
    const limit = this.shareOf(this.subscriptions)
    if (this.subscribed >= limit && exchange.caller !== "" && this.countOf(exchange.caller, true) >= limit) {
      return tooMany("subscriptions of this caller are open", limit, id)
    }
    this.subscribed++
    exchange.isSubscription = true
    return undefined
  }

  // ---- shutdown

  /** Begins the shutdown: subscriptions end at once. */
  close(): void {
    this.draining = true
    Deferred.doneUnsafe(this.closed, Effect.void)
    this.complete()
  }

  private complete(): void {
    if (!this.draining || this.posts.size > 0) return
    Deferred.doneUnsafe(this.noPosts, Effect.void)
    if (this.others.size === 0) Deferred.doneUnsafe(this.noExchanges, Effect.void)
  }

  /** Interrupts the requests of all POSTs. */
  stop(): void {
    for (const { stop } of this.posts.values()) stop()
  }

  /** Cuts off the responses that clients do not read. */
  cut(): void {
    for (const { cut } of this.posts.values()) cut()
    for (const { cut } of this.others) cut()
  }
}

/** Of exchanges that wait for their bodies, oldest first: the oldest of the caller with most of them. */
export const slowestOf = <A extends { readonly caller: string }>(waiting: ReadonlyArray<A>): A | undefined => {
  const counts = new Map<string, number>()
  for (const { caller } of waiting) counts.set(caller, (counts.get(caller) ?? 0) + 1)
  const most = Math.max(0, ...counts.values())
  return waiting.find(({ caller }) => counts.get(caller) === most)
}
