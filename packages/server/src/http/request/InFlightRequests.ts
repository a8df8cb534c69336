/**
 * What an endpoint is at work on: its POSTs, the limits on them, and how they end at a shutdown.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { exitOf } from "@effect-mcp/core/internal/eager"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Asked } from "./HttpRequest.ts"
import { anonymous, callerKey } from "@effect-mcp/core/Principal"
import { type Refusal, tooMany } from "../response/Responses.ts"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"

const nothing = (): void => {}

/** One request, from its admission until its response was written or cut off. */
export class Post {
  /** Stands open by design (a subscription): counted apart. */
  stands = false
  /** Whether its body is still to come, and for how many rounds of the sweep it has been. */
  reading: number | undefined = 0
  /** Interrupts what was asked for. */
  stop: () => void
  /** Cuts the response off. */
  cut: () => void
  /** Called when it is over. */
  left: (() => void) | undefined = undefined
  private asked: Asked | undefined
  private named: string | undefined = undefined

  constructor(cut: () => void, asked: Asked | undefined) {
    this.asked = asked
    this.stop = cut
    this.cut = cut
  }

  /** The principal or the address; empty where neither is known. Few are ever asked. */
  get caller(): string {
    if (this.asked === undefined) return this.named ?? ""
    return (this.named ??= callerKey(this.asked.principal ?? anonymous, this.asked.address) ?? "")
  }

  /** It is over, and holds on to nothing: where it got old, what it was would be old with it. */
  end(): void {
    this.asked = undefined
    const { left } = this
    this.stop = nothing
    this.cut = nothing
    this.left = undefined
    left?.()
  }
}

export interface Limits {
  /** Requests at once (default 1024); one more is answered by 429. Of bodies as many arrive at once: for one more, a slow one is cut off. */
  readonly inFlight?: number | undefined
  /**
   * How much of `inFlight` and of `subscriptions` one caller may take: a principal, or else an address. Default 0.5. Behind a proxy
   * all callers without a principal have one address; where no address is known, as on Workers, they are not limited.
   */
  readonly callerShare?: number | undefined
  /** Subscriptions that stand open at once, beside them. Default 1024. */
  readonly subscriptions?: number | undefined
  /** A body has that long to arrive, and at most twice as long. Default 30 seconds. */
  readonly bodyTimeout?: Duration.Input | undefined
}

export class Work {
  readonly inFlight: number
  readonly subscriptions: number
  private readonly posts = new BusyMap<Post, Post>()
  /** What is no POST. */
  private readonly streams = new Set<Post>()
  private readonly share: number
  private standing = 0
  private reading = 0
  private away = 0
  private readonly awayOf = new Map<string, number>()
  private readonly ending = Deferred.makeUnsafe<void>()
  private readonly gone = Deferred.makeUnsafe<void>()
  /** Completes when the endpoint is about to end: what stands open then ends by itself. */
  readonly closing: Effect.Effect<void> = Deferred.await(this.ending)
  /** Waits until nothing is left to do, once it is closed. */
  readonly settled: Effect.Effect<void> = Deferred.await(this.gone)
  private readonly silence = Deferred.makeUnsafe<void>()
  /** Waits until no response is open, once it is closed. */
  readonly silent: Effect.Effect<void> = Deferred.await(this.silence)
  draining = false
  /** Runs as long as something is posted: before that there must not be as much as a timer, where code is only loaded (Workers). */
  private readonly sweep: Effect.Effect<void>
  private sweeping = false
  private readonly fork: (effect: Effect.Effect<void>) => void

  /** `fork` runs an effect in the scope of the endpoint. */
  constructor(limits: Limits, fork: Work["fork"]) {
    const { bodyTimeout = "30 seconds", callerShare = 0.5, inFlight = 1024, subscriptions = 1024 } = limits
    this.share = callerShare
    this.inFlight = inFlight
    this.subscriptions = subscriptions
    this.fork = fork
    this.sweep = Effect.repeat(
      Effect.andThen(
        Effect.sleep(bodyTimeout),
        Effect.sync(() => {
          for (const post of this.posts.values()) if (post.reading !== undefined && ++post.reading > 1) post.cut()
          this.sweeping = this.posts.size > 0
        })
      ),
      { while: () => this.sweeping }
    )
  }

  /** A POST whose body is still to come: where too many are, a slow one gives way. */
  enter(cut: () => void, asked: Asked): Post {
    if (this.reading >= this.inFlight) this.giveWay()
    const post = new Post(cut, asked)
    this.posts.set(post, post)
    this.reading++
    if (!this.sweeping) {
      this.sweeping = true
      this.fork(this.sweep)
    }
    return post
  }

  /** What is no POST: neither limited, nor waited for. */
  open(cut: () => void): Post {
    const post = new Post(cut, undefined)
    this.streams.add(post)
    return post
  }

  /** All of its body has come. */
  arrived(post: Post): void {
    if (post.reading === undefined) return
    post.reading = undefined
    this.reading--
  }

  /** Cuts off the body that has been coming for longest, of the caller of whom most are. */
  private giveWay(): void {
    const slow = slowestOf(this.posts.values().filter(({ reading }) => reading !== undefined))
    if (slow === undefined) return
    const { cut } = slow
    this.leave(slow)
    cut()
  }

  /** A request goes on though its POST is over; or it did, and has ended. */
  leftBehind(change: 1 | -1, caller: string): void {
    this.away += change
    const count = (this.awayOf.get(caller) ?? 0) + change
    if (count > 0) this.awayOf.set(caller, count)
    else this.awayOf.delete(caller)
  }

  private look(): void {
    if (!this.draining || this.posts.size > 0) return
    Deferred.doneUnsafe(this.gone, Effect.void)
    if (this.streams.size === 0) Deferred.doneUnsafe(this.silence, Effect.void)
  }

  leave(post: Post): void {
    if (!this.posts.delete(post) && !this.streams.delete(post)) return
    if (post.stands) this.standing--
    this.arrived(post)
    post.end()
    this.look()
  }

  /** The POSTs whose bodies have come and that are no subscriptions. */
  private get here(): number {
    return this.posts.size - this.standing - this.reading
  }

  private limitOf(all: number): number {
    return Math.ceil(all * this.share)
  }

  /** POSTs of one caller that are subscriptions, or that are none. */
  private countOf(caller: string, stands: boolean): number {
    const own = this.posts.values().filter((post) => post.stands === stands && post.reading === undefined)
    return own.filter((post) => post.caller === caller).length
  }

  /** What speaks against the request that just came: it is one too many of all, or of its caller. Below the share nothing is counted. */
  busy(post: Post, id: JsonRpc.Id): Refusal | undefined {
    const running = this.here + this.away
    if (running > this.inFlight) return tooMany("requests are in flight", this.inFlight, id)
    const limit = this.limitOf(this.inFlight)
    if (running <= limit || post.caller === "") return undefined
    const own = this.countOf(post.caller, false) + (this.awayOf.get(post.caller) ?? 0)
    return own > limit ? tooMany("requests of this caller are in flight", limit, id) : undefined
  }

  /** Whether not even its body is to be read. What requests wait for has as much room again as they. */
  get crowded(): boolean {
    return this.here >= this.inFlight * 2
  }

  /** Counts the POST as a subscription, or says why not. */
  stand(post: Post, id: JsonRpc.Id): Refusal | undefined {
    if (this.standing >= this.subscriptions) return tooMany("subscriptions are open", this.subscriptions, id)
    const limit = this.limitOf(this.subscriptions)
    if (this.standing >= limit && post.caller !== "" && this.countOf(post.caller, true) >= limit) {
      return tooMany("subscriptions of this caller are open", limit, id)
    }
    this.standing++
    post.stands = true
    return undefined
  }

  /** Nothing new from now on; subscriptions end at once. */
  close(): void {
    this.draining = true
    Deferred.doneUnsafe(this.ending, Effect.void)
    this.look()
  }

  stop(): void {
    for (const { stop } of this.posts.values()) stop()
  }

  /** Whoever does not read what is left for it gets no more. */
  cut(): void {
    for (const { cut } of this.posts.values()) cut()
    for (const { cut } of this.streams) cut()
  }
}

/** Of some that wait for their bodies, oldest first: the oldest of the caller who has most. */
export const slowestOf = <A extends { readonly caller: string }>(waiting: ReadonlyArray<A>): A | undefined => {
  const counts = new Map<string, number>()
  for (const { caller } of waiting) counts.set(caller, (counts.get(caller) ?? 0) + 1)
  const most = Math.max(0, ...counts.values())
  return waiting.find(({ caller }) => counts.get(caller) === most)
}

/** The answer, if it is there and whole, so that the endpoint has nothing more to do with it. */
export const whole = <R>(answer: Effect.Effect<HttpServerResponse, never, R>): HttpServerResponse | undefined => {
  const exit = exitOf(answer)
  return exit !== undefined && Exit.isSuccess(exit) && exit.value.body._tag !== "Stream" ? exit.value : undefined
}
