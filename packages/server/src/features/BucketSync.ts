/** Settles buckets with those of the other nodes, in a fiber: what is used during one step is told by the next. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { TokenBucket } from "../internal/TokenBucket.ts"
import type { RateLimitStore } from "./RateLimitStore.ts"

/** Parts of a second's budget after each of which a bucket is settled. */
const parts = 20
/** The pause between two steps, in milliseconds. */
const pause = 20
/** The pause after a step that failed, in milliseconds. */
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

  /** A bucket of this node, full until the others say otherwise. */
  bucket(method: string, isResumed: boolean, caller: string, perSecond: number, now: number): TokenBucket {
    const name = JSON.stringify([this.server, method, isResumed, caller])
    return new SharedBucket(name, perSecond, now, (bucket) => void Queue.offerUnsafe(this.waiting, bucket))
  }
}

class SharedBucket extends TokenBucket {
  private readonly name: string
  private readonly part: number
  private readonly settle: (bucket: SharedBucket) => void
  /** What the others do not know of. */
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

  /** One that waits is kept: a second bucket of its name would stand in the same statement. */
  override isFull(now: number): boolean {
    return !this.isWaiting && super.isFull(now)
  }

  /** `told` of its uses are known to the others, where `level` tokens are left. */
  settled(told: number, level: number | undefined, now: number): void {
    this.used -= told
    this.isWaiting = false
    if (level !== undefined) this.set(level - this.used, now)
    this.ask()
  }

  /** The others know of none of its uses. Those whose tokens have come back here are no debt: an outage may last for hours. */
  failed(now: number): void {
    this.used = Math.min(this.used, 2 * this.perSecond - this.level(now))
    this.isWaiting = false
    this.ask()
  }
}
