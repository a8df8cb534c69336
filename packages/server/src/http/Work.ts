/**
 * What an endpoint is at work on: its POSTs, the limits on them, and how they end at a shutdown.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** One POST, from its admission until its response was written or cut off. */
export interface Post {
  /** Stands open by design (a subscription): counted apart. */
  stands: boolean
  /** Interrupts what was asked for. */
  stop: () => void
  /** Called when it is over. */
  left: (() => void) | undefined
}

export interface Limits {
  /** Requests at once (default 1024); one more is answered by 429. */
  readonly inFlight?: number | undefined
  /** Subscriptions that stand open at once, beside them. Default 1024. */
  readonly subscriptions?: number | undefined
}

export class Work {
  readonly inFlight: number
  readonly subscriptions: number
  private readonly posts = new Set<Post>()
  private standing = 0
  private readonly ending = Deferred.makeUnsafe<void>()
  private readonly gone = Deferred.makeUnsafe<void>()
  /** Completes when the endpoint is about to end: what stands open then ends by itself. */
  readonly closing: Effect.Effect<void> = Deferred.await(this.ending)
  /** Waits until nothing is left to do, once it is closed. */
  readonly settled: Effect.Effect<void> = Deferred.await(this.gone)
  draining = false

  constructor({ inFlight = 1024, subscriptions = 1024 }: Limits) {
    this.inFlight = inFlight
    this.subscriptions = subscriptions
  }

  enter(stop: () => void): Post {
    const post: Post = { stands: false, stop, left: undefined }
    this.posts.add(post)
    return post
  }

  leave(post: Post): void {
    this.posts.delete(post)
    if (post.stands) this.standing--
    post.left?.()
    if (this.draining && this.posts.size === 0) Deferred.doneUnsafe(this.gone, Effect.void)
  }

  /** Whether the request that just came is one too many. */
  get over(): boolean {
    return this.posts.size - this.standing > this.inFlight
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
    if (this.posts.size === 0) Deferred.doneUnsafe(this.gone, Effect.void)
  }

  stop(): void {
    for (const { stop } of this.posts) stop()
  }
}
