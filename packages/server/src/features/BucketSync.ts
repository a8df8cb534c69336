/**
 * Reconciles this node's buckets with the other nodes' in a fiber. Tokens that are used during one step are reported in
 * the next.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { TokenBucket } from "../internal/TokenBucket.ts"
import type { RateLimitStore } from "./RateLimitStore.ts"

/** A bucket is reconciled after each use of this fraction of a second's budget. */
const parts = 20
/** Pause between two steps, in milliseconds. */
const pause = 20
/** Pause after a failed step, in milliseconds. */
const outage = 1000

export class BucketSync {
  private readonly server: string
  private readonly waiting: Queue.Queue<SharedBucket>

  private constructor(server: string, waiting: Queue.Queue<SharedBucket>) {
    this.server = server
    this.waiting = waiting
  }

  static readonly make = Effect.fnUntraced(function* (
    store: RateLimitStore["Service"],
    server: string,
    now: () => number
  ): Effect.fn.Return<BucketSync, never, Scope.Scope> {
    const waiting = yield* Queue.unbounded<SharedBucket>()
    const step = Effect.flatMap(Queue.takeAll(waiting), (buckets) => {
      const uses = buckets.map((bucket) => bucket.begin())
      return Effect.matchCauseEffect(store.settle(uses), {
        onFailure: () => {
          const at = now()
          for (const bucket of buckets) bucket.failed(at)
          return Effect.sleep(outage)
        },
        onSuccess: (levels) => {
          const at = now()
          for (const [i, bucket] of buckets.entries()) bucket.settled(uses[i]?.used ?? 0, levels[i], at)
          return Effect.sleep(pause)
        }
      })
    })
    yield* Effect.forkScoped(Effect.forever(step))
    return new BucketSync(server, waiting)
  })

  /** Creates a bucket for this node, full until the store reports otherwise. */
  bucket(method: string, isResumed: boolean, caller: string, perSecond: number, now: number): TokenBucket {
    const name = JSON.stringify([this.server, method, isResumed, caller])
    return new SharedBucket(name, perSecond, now, (bucket) => void Queue.offerUnsafe(this.waiting, bucket))
  }
}

class SharedBucket extends TokenBucket {
  private readonly name: string
  private readonly part: number
  private readonly settle: (bucket: SharedBucket) => void
  /** Number of uses that the other nodes have not counted yet. */
  private used = 0
  private isWaiting = false

  constructor(name: string, perSecond: number, now: number, settle: (bucket: SharedBucket) => void) {
    super(perSecond, now)
    this.name = name
    this.part = perSecond / parts
    this.settle = settle
  }

  override take(now: number): boolean {
    const taken = super.take(now)
    if (taken) this.used++
    this.ask()
    return taken
  }

  private ask(): void {
    if (this.isWaiting || this.used === 0 || this.used < this.part) return
    this.isWaiting = true
    this.settle(this)
  }

  begin() {
    return { bucket: this.name, used: this.used, perSecond: this.perSecond }
  }

  /** Keeps a waiting bucket: otherwise a second bucket of the same name could end up in the same statement. */
  override isFull(now: number): boolean {
    return !this.isWaiting && super.isFull(now)
  }

  /** Other nodes have counted `told` uses and report `level` tokens left. */
  settled(told: number, level: number | undefined, now: number): void {
    this.used -= told
    this.isWaiting = false
    if (level !== undefined) this.set(level - this.used, now)
    this.ask()
  }

  /**
   * No use was reported. Uses whose tokens have been refilled since then are not reported later, because an outage may
   * last for hours.
   */
  failed(now: number): void {
    this.used = Math.min(this.used, 2 * this.perSecond - this.level(now))
    this.isWaiting = false
    this.ask()
  }
}
