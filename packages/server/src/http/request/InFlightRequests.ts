/**
 * An endpoint's open HTTP exchanges: their limits, and how they end at shutdown.
 *
 * Counts requests, subscriptions and bodies, in total and per caller. Doesn't inspect messages.
 */
import { boundsOf, BusyMap, Deadlines, type Entries, type Fork, Shares } from "@effect-mcp/core/internal/inFlight"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type ErrorResponse, tooMany } from "../response/Responses.ts"
import { ArrivingBodies } from "../../internal/ArrivingBodies.ts"
import { HttpExchange, type UnreadAnswer } from "./HttpExchange.ts"
import { callerOf, type HttpRequest } from "./HttpRequest.ts"

export interface RequestLimits {
  /**
   * Maximum number of concurrent requests. Beyond it, clients receive a 429. The same number of bodies may be arriving at once; beyond it,
   * a slow one is cut off. Default 1024.
   */
  readonly inFlight?: number | undefined
  /**
   * Maximum total bytes of bodies being received. Beyond it, a slow body of the heaviest caller is cut off. Running requests may hold the
   * same amount again; beyond it, clients receive a 429. `Infinity` disables the limit. It should be several times `maxMessageBytes`.
   * Default 128 MiB.
   */
  readonly bodyBytes?: number | undefined
  /**
   * Maximum bytes of responses waiting for clients to read them. Beyond it, the heaviest caller loses the connection of its oldest unread
   * response, unless it has only one. `Infinity` disables the limit. It only works on Node, because other platforms don't report unread
   * bytes. Default 256 MiB.
   */
  readonly answerBytes?: number | undefined
  /**
   * Share of `inFlight`, `subscriptions`, `bodyBytes` and `answerBytes` that one caller (a principal, or else an address) may use, from 0
   * to 1. Behind a proxy, all callers without a principal share one address. If no address is known, as on Workers, anonymous callers are
   * not limited. Default 0.5.
   */
  readonly callerShare?: number | undefined
  /** Maximum number of open subscriptions (2026-07-28), in addition to `inFlight`. Beyond it, clients receive a 429. Default 1024. */
  readonly subscriptions?: number | undefined
  /** How long a body may take to arrive. It is cut off after at most twice that time. Default 30 seconds. */
  readonly bodyTimeout?: Duration.Input | undefined
}

export const defaultBodyBytes = 128 * 1024 * 1024
export const defaultAnswerBytes = 256 * 1024 * 1024

export class InFlightRequests implements Entries {
  readonly inFlight: number
  private readonly bodyTimeout: number
  /** The open POSTs. */
  private readonly posts = new BusyMap<HttpExchange, HttpExchange>()
  /** Other open exchanges, which are not limited or waited for at shutdown. */
  private readonly others = new Set<HttpExchange>()
  /** POSTs waiting for their bodies. */
  readonly arriving: ArrivingBodies<HttpExchange>
  /** Running requests: in a POST whose body has arrived, or after their POST has ended. */
  private readonly requests: Shares
  /** Bytes of the bodies of `requests`. */
  private readonly bytes: Shares
  private readonly subscriptions: Shares
  /** Responses waiting for their clients to read them. */
  readonly answers: ArrivingBodies<UnreadAnswer>
  /** Watches the arriving bodies, in rounds of `bodyTimeout`. */
  private readonly bodies: Deadlines
  private readonly closed = Deferred.makeUnsafe<void>()
  private readonly noPosts = Deferred.makeUnsafe<void>()
  private readonly noExchanges = Deferred.makeUnsafe<void>()
  /** Completes when the endpoint is about to stop, at which point subscriptions end. */
  readonly closing: Effect.Effect<void> = Deferred.await(this.closed)
  /** After `close`, waits until no POST is open or expected. */
  readonly settled: Effect.Effect<void> = Deferred.await(this.noPosts)
  /** After `close`, waits until no response is open. */
  readonly silent: Effect.Effect<void> = Deferred.await(this.noExchanges)
  /** True once `close` has been called. */
  draining = false
  /** True if the endpoint is about to stop. Every response then closes its connection, so that clients connect elsewhere. */
  leaving = false
  /** True if an accepted connection may still bring a request. */
  private expects = false
  /** True if requests that still arrive are handled although the endpoint is closed. */
  private serves = false
  /** Same as above, for requests in sessions that this node holds. */
  private servesSessions = false
  private readonly drain: { readonly isDraining: boolean }

  /** `fork` runs an effect in the endpoint's scope. `drain` is the server's. */
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
    const answerBytes = boundsOf(limits.answerBytes ?? defaultAnswerBytes, callerShare)
    const cutAnswer = (slow: UnreadAnswer): void => {
      this.answers.leave(slow)
      // Deferred, because a stream may be in the middle of adding an event.
      queueMicrotask(() => {
        this.leave(slow.exchange)
        slow.close()
      })
    }
    // One answer may be larger than the limit: its client may be reading it.
    this.answers = new ArrivingBodies<UnreadAnswer>(Infinity, answerBytes, cutAnswer, true)
    this.bodyTimeout = Duration.toMillis(Duration.fromInputUnsafe(bodyTimeout))
    this.bodies = new Deadlines(clock, fork, this)
  }

  /** True if the endpoint accepts new sessions and requests without a session. */
  get admits(): boolean {
    return (!this.draining || this.serves) && !this.drain.isDraining
  }

  /** True if the endpoint accepts requests in sessions. */
  get admitsInSessions(): boolean {
    return !this.draining || this.servesSessions
  }

  // ---- exchanges

  /** Starts a POST whose body has not arrived yet. */
  enter(cut: () => void, http: HttpRequest): HttpExchange {
    // Throws if the principal cannot be compared, so it must come before any change.
    const exchange = new HttpExchange(cut, callerOf(http))
    this.arriving.enter(exchange)
    this.posts.set(exchange, exchange)
    this.bodies.begin(this.bodyTimeout)
    return exchange
  }

  /** Starts an exchange with another method. */
  open(cut: () => void, http: HttpRequest): HttpExchange {
    const exchange = new HttpExchange(cut, callerOf(http))
    this.others.add(exchange)
    return exchange
  }

  /** Called when the whole body has arrived. */
  arrived(exchange: HttpExchange): void {
    if (this.arriving.leave(exchange)) this.count(exchange.caller, 1, exchange.bytes)
  }

  private count(caller: string, change: 1 | -1, bytes: number): void {
    this.requests.add(caller, change)
    this.bytes.add(caller, change * bytes)
  }

  /** Called when the response has been written or cut off. A second call does nothing. */
  leave(exchange: HttpExchange): void {
    if (!this.posts.delete(exchange)) {
      if (!this.others.delete(exchange)) return
    } else if (exchange.isSubscription) this.subscriptions.add(exchange.caller, -1)
    else if (!this.arriving.leave(exchange)) this.count(exchange.caller, -1, exchange.bytes)
    if (exchange.unread !== undefined) this.answers.leave(exchange.unread)
    exchange.end()
    this.complete()
  }

  /** Sets how many bytes of the response are waiting for the client, or 0 once it has read them. `close` closes the connection. */
  unread(exchange: HttpExchange, bytes: number, close: () => void): void {
    if (bytes === 0) {
      if (exchange.unread !== undefined) this.answers.leave(exchange.unread)
      exchange.unread = undefined
      return
    }
    if (exchange.unread === undefined) {
      if (!this.posts.has(exchange) && !this.others.has(exchange)) return
      exchange.unread = { caller: exchange.caller, bytes: 0, exchange, close }
      this.answers.enter(exchange.unread)
    }
    const more = bytes - exchange.unread.bytes
    if (more > 0) this.answers.received(exchange.unread, more)
  }

  /** Counts a request that continues after its POST has ended (1), or the end of such a request (-1). `bytes` is the size of its body. */
  leftBehind(change: 1 | -1, caller: string, bytes: number): void {
    this.count(caller, change, bytes)
  }

  /** Cuts off each body that is still arriving in its second round. */
  look(now: number): number {
    for (const post of this.arriving.all()) if (++post.rounds > 1) post.cut()
    return this.posts.size > 0 ? now + this.bodyTimeout : Infinity
  }

  // ---- limits

  /** Returns the error response if the request exceeds the total limit or its caller's limit. */
  busy({ caller }: HttpExchange, id: JsonRpc.Id | undefined): ErrorResponse | undefined {
    return (
      excess(this.requests, caller, 0, "requests", "are in flight", id) ??
      excess(this.bytes, caller, 0, "bytes of requests", "are in flight", id)
    )
  }

  /** True if not even a body may be read. Responses to questions have as much room as requests, so the limit is doubled. */
  get crowded(): boolean {
    return this.posts.size - this.arriving.size - this.subscriptions.total >= this.inFlight * 2
  }

  /** Counts the POST as a subscription, or returns the error response if there are too many. */
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

  /** Begins the shutdown. Subscriptions end immediately. The options say which requests are still handled until `stop`. */
  close({ requests, sessions }: { readonly requests: boolean; readonly sessions: boolean }): void {
    this.draining = true
    this.leaving = true
    this.expects = requests
    this.serves = requests
    this.servesSessions = sessions
    Deferred.doneUnsafe(this.closed, Effect.void)
    this.complete()
  }

  /** Called when all accepted connections have sent their requests, or have had enough time to. */
  expectNone(): void {
    this.expects = false
    this.complete()
  }

  /** True if no POST is open or expected. */
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

  /** Cuts off responses that clients aren't reading. */
  cut(): void {
    for (const { cut, unread } of [...this.posts.values(), ...this.others]) {
      cut()
      unread?.close()
    }
  }
}

/** Returns a 429 if holding this much more would exceed one of the caller's limits. */
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
  return tooMany(`${what}${exceeded === "total" ? "" : " from this caller"} ${state}`, shares.bounds[exceeded], id)
}
