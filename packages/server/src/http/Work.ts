/**
 * What an endpoint is at work on: its POSTs, the limits on them, and how they end at a shutdown.
 */
import { BusyMap } from "@effect-mcp/core/BusyMap"
import { exitOf } from "@effect-mcp/core/Done"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"

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

  constructor(cut: () => void) {
    this.stop = cut
    this.cut = cut
  }

  /** It is over, and holds on to nothing: where it got old, what it was would be old with it. */
  end(): void {
    const { left } = this
    this.stop = nothing
    this.cut = nothing
    this.left = undefined
    left?.()
  }
}

export interface Limits {
  /** Requests at once (default 1024); one more is answered by 429. */
  readonly inFlight?: number | undefined
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
  private standing = 0
  private away = 0
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
  constructor({ bodyTimeout = "30 seconds", inFlight = 1024, subscriptions = 1024 }: Limits, fork: Work["fork"]) {
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

  enter(cut: () => void): Post {
    const post = new Post(cut)
    this.posts.set(post, post)
    if (!this.sweeping) {
      this.sweeping = true
      this.fork(this.sweep)
    }
    return post
  }

  /** What is no POST: neither limited, nor waited for. */
  open(cut: () => void): Post {
    const post = new Post(cut)
    this.streams.add(post)
    return post
  }

  /** A request goes on though its POST is over; or it did, and has ended. */
  leftBehind(change: 1 | -1): void {
    this.away += change
  }

  private look(): void {
    if (!this.draining || this.posts.size > 0) return
    Deferred.doneUnsafe(this.gone, Effect.void)
    if (this.streams.size === 0) Deferred.doneUnsafe(this.silence, Effect.void)
  }

  leave(post: Post): void {
    if (!this.posts.delete(post) && !this.streams.delete(post)) return
    if (post.stands) this.standing--
    post.end()
    this.look()
  }

  /** Whether the request that just came is one too many. */
  get busy(): boolean {
    return this.posts.size - this.standing + this.away > this.inFlight
  }

  /** Whether not even its body is to be read. What requests wait for has as much room again as they. */
  get crowded(): boolean {
    return this.posts.size - this.standing >= this.inFlight * 2
  }

  /** Counts the POST as a subscription; `false` where that would be too many. */
  stand(post: Post): boolean {
    if (this.standing >= this.subscriptions) return false
    this.standing++
    post.stands = true
    return true
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

/** The answer, if it is there and whole, so that the endpoint has nothing more to do with it. */
export const whole = <R>(answer: Effect.Effect<HttpServerResponse, never, R>): HttpServerResponse | undefined => {
  const exit = exitOf(answer)
  return exit !== undefined && Exit.isSuccess(exit) && exit.value.body._tag !== "Stream" ? exit.value : undefined
}
