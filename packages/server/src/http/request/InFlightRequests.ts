/**
 * The HTTP exchanges of an endpoint that are open: their limits, and how they end at a shutdown.
 *
 * Owns the counts of requests, subscriptions and bodies, of all callers and of each. Refuses to read a message.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { Deadlines, type Entries, type Fork } from "@effect-mcp/core/internal/Deadlines"
import { boundsOf, Shares } from "@effect-mcp/core/internal/Shares"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type ErrorResponse, tooMany } from "../response/Responses.ts"
import { ArrivingBodies } from "./ArrivingBodies.ts"
import { HttpExchange } from "./HttpExchange.ts"
import { callerOf, type HttpRequest } from "./HttpRequest.ts"

export interface RequestLimits {
  /**
   * Requests at once. Default 1024; one more is answered by 429. As many bodies may be arriving at once: for one more, a slow one is
   * cut off.
   */
  readonly inFlight?: number | undefined
  /**
   * Bytes of bodies that are arriving. Default 128 MiB; for more, a slow body of the caller that holds the most is cut off. Requests that
   * run hold as many again: one more is answered by 429. `Infinity` switches it off. Should be several times `maxMessageBytes`.
   */
  readonly bodyBytes?: number | undefined
  /**
   * How much of `inFlight`, `subscriptions` and `bodyBytes` one caller may take, from 0 to 1: a principal, or else an address. Default
   * 0.5. Behind a proxy all callers without a principal have one address. If no address is known, as on Workers, they are not limited.
   */
  readonly callerShare?: number | undefined
  /** Subscriptions (2026-07-28) that are open at once, beside `inFlight`. Default 1024; one more is answered by 429. */
  readonly subscriptions?: number | undefined
  /** How long a body may take to arrive; at most twice as long passes until it is cut off. Default 30 seconds. */
  readonly bodyTimeout?: Duration.Input | undefined
}

export const defaultBodyBytes = 128 * 1024 * 1024

export class InFlightRequests implements Entries {
  readonly inFlight: number
  private readonly bodyTimeout: number
  /** The POSTs that are open. */
  private readonly posts = new BusyMap<HttpExchange, HttpExchange>()
  /** The other exchanges that are open: neither limited, nor waited for at a shutdown. */
  private readonly others = new Set<HttpExchange>()
  /** The POSTs that wait for their bodies. */
  readonly arriving: ArrivingBodies<HttpExchange>
  /** Requests that run: in a POST whose body has arrived, or after their POST has ended. */
  private readonly requests: Shares
  /** Bytes of the bodies of `requests`. */
  private readonly bytes: Shares
  private readonly subscriptions: Shares
  /** Watches the bodies that are arriving, in rounds of `bodyTimeout`. */
  private readonly bodies: Deadlines
  private readonly closed = Deferred.makeUnsafe<void>()
  private readonly noPosts = Deferred.makeUnsafe<void>()
  private readonly noExchanges = Deferred.makeUnsafe<void>()
  /** Completes when the endpoint is about to end: subscriptions then end by themselves. */
  readonly closing: Effect.Effect<void> = Deferred.await(this.closed)
  /** Waits until no POST is open or expected, once it is closed. */
  readonly settled: Effect.Effect<void> = Deferred.await(this.noPosts)
  /** Waits until no response is open, once it is closed. */
  readonly silent: Effect.Effect<void> = Deferred.await(this.noExchanges)
  /** Whether `close` was called; never false again. */
  draining = false
  /** Whether the endpoint is about to end: each response closes its connection, so that clients connect elsewhere. */
  leaving = false
  /** Whether a connection that was accepted may still bring a request. */
  private expects = false
  /** Whether requests that still arrive are answered, though it is closed. */
  private serves = false
  /** The same for requests of sessions that are held here. */
  private servesSessions = false
  private readonly drain: { readonly isDraining: boolean }

  /** `fork` runs an effect in the scope of the endpoint. `drain` is that of the server. */
  constructor(limits: RequestLimits, clock: Clock.Clock, fork: Fork, drain: { readonly isDraining: boolean }) {
    const { bodyTimeout = "30 seconds", callerShare = 0.5, inFlight = 1024, subscriptions = 1024 } = limits
    const bytes = boundsOf(limits.bodyBytes ?? defaultBodyBytes, callerShare)
    this.drain = drain
    this.inFlight = inFlight
    this.requests = new Shares(boundsOf(inFlight, callerShare))
    this.subscriptions = new Shares(boundsOf(subscriptions, callerShare))
    this.bytes = new Shares(bytes)
    this.arriving = new ArrivingBodies(inFlight, bytes, (slow) => {
      const { cut } = slow
      this.leave(slow)
      cut()
    })
    this.bodyTimeout = Duration.toMillis(Duration.fromInputUnsafe(bodyTimeout))
    this.bodies = new Deadlines(clock, fork, this)
  }

  /** Whether new sessions, and requests without one, are let in. */
  get admits(): boolean {
    return (!this.draining || this.serves) && !this.drain.isDraining
  }

  /** Whether requests of sessions are let in. */
  get admitsInSessions(): boolean {
    return !this.draining || this.servesSessions
  }

  // ---- exchanges

  /** Begins a POST whose body is still to arrive. */
  enter(cut: () => void, http: HttpRequest): HttpExchange {
    // Throws for a principal that cannot be compared, before anything has changed.
    const exchange = new HttpExchange(cut, callerOf(http))
    this.arriving.enter(exchange)
    this.posts.set(exchange, exchange)
    this.bodies.begin(this.bodyTimeout)
    return exchange
  }

  /** Begins an exchange of another method. */
  open(cut: () => void): HttpExchange {
    const exchange = new HttpExchange(cut, "")
    this.others.add(exchange)
    return exchange
  }

  /** The whole body has arrived. */
  arrived(exchange: HttpExchange): void {
    if (this.arriving.leave(exchange)) this.count(exchange.caller, 1, exchange.bytes)
  }

  private count(caller: string, change: 1 | -1, bytes: number): void {
    this.requests.add(caller, change)
    this.bytes.add(caller, change * bytes)
  }

  /** The response was written or cut off. A second call does nothing. */
  leave(exchange: HttpExchange): void {
    if (!this.posts.delete(exchange)) {
      if (!this.others.delete(exchange)) return
    } else if (exchange.isSubscription) this.subscriptions.add(exchange.caller, -1)
    else if (!this.arriving.leave(exchange)) this.count(exchange.caller, -1, exchange.bytes)
    exchange.end()
    this.complete()
  }

  /** A request runs on though its POST has ended (1), or has ended after that (-1). `bytes`: of its body. */
  leftBehind(change: 1 | -1, caller: string, bytes: number): void {
    this.count(caller, change, bytes)
  }

  /** A body is cut off in the second round that finds it arriving. */
  look(now: number): number {
    for (const post of this.arriving.all()) if (++post.rounds > 1) post.cut()
    return this.posts.size > 0 ? now + this.bodyTimeout : Infinity
  }

  // ---- limits

  /** The error response if the request is one too many of all callers or of its own. */
  busy({ caller }: HttpExchange, id: JsonRpc.Id | undefined): ErrorResponse | undefined {
    return (
      excess(this.requests, caller, 0, "requests", "are in flight", id) ??
      excess(this.bytes, caller, 0, "bytes of requests", "are in flight", id)
    )
  }

  /** Whether not even a body is to be read. Responses to questions have as much room again as requests. */
  get crowded(): boolean {
    return this.posts.size - this.arriving.size - this.subscriptions.total >= this.inFlight * 2
  }

  /** Counts the POST as a subscription, unless it is one too many; then returns the error response. */
  subscribe(exchange: HttpExchange, id: JsonRpc.Id): ErrorResponse | undefined {
    const { bytes, caller } = exchange
    const refused = excess(this.subscriptions, caller, 1, "subscriptions", "are open", id)
    if (refused !== undefined) return refused
    this.count(caller, -1, bytes)
    this.subscriptions.add(caller, 1)
    exchange.isSubscription = true
    return undefined
  }

  // ---- shutdown

  /** Begins the shutdown: subscriptions end at once. The options say what is still answered until `stop`. */
  close({ requests, sessions }: { readonly requests: boolean; readonly sessions: boolean }): void {
    this.draining = true
    this.leaving = true
    this.expects = requests
    this.serves = requests
    this.servesSessions = sessions
    Deferred.doneUnsafe(this.closed, Effect.void)
    this.complete()
  }

  /** All connections that were accepted have brought their requests, or have had the time for it. */
  expectNone(): void {
    this.expects = false
    this.complete()
  }

  /** Whether no POST is open or expected. */
  get isSettled(): boolean {
    return this.posts.size === 0 && !this.expects
  }

  private complete(): void {
    if (!this.draining || !this.isSettled) return
    Deferred.doneUnsafe(this.noPosts, Effect.void)
    if (this.others.size === 0) Deferred.doneUnsafe(this.noExchanges, Effect.void)
  }

  /** Interrupts the requests of all POSTs. */
  stop(): void {
    this.expectNone()
    this.serves = false
    this.servesSessions = false
    for (const { stop } of this.posts.values()) stop()
  }

  /** Cuts off the responses that clients do not read. */
  cut(): void {
    for (const { cut } of this.posts.values()) cut()
    for (const { cut } of this.others) cut()
  }
}

/** 429 if a caller would exceed a bound by holding this much more. */
const excess = (
  shares: Shares,
  caller: string,
  more: number,
  what: string,
  state: string,
  id: JsonRpc.Id | undefined
): ErrorResponse | undefined => {
  const exceeded = shares.exceededBy(caller, more)
  if (exceeded === undefined) return undefined
  return tooMany(`${what}${exceeded === "total" ? "" : " of this caller"} ${state}`, shares.bounds[exceeded], id)
}
