/** A clock that jumps from one sleep to the next on demand, so that a day takes only as long as its work. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface Sleep {
  readonly until: number
  readonly wake: () => void
}

const nanos = (millis: number): bigint => BigInt(Math.round(millis * 1_000_000))

export class VirtualClock implements Clock.Clock {
  private now = 0
  /** Sorted by end, and by age if the ends are equal. */
  private readonly sleeps: Array<Sleep> = []
  readonly currentTimeMillis = Effect.sync(() => this.now)
  readonly currentTimeNanos = Effect.sync(() => nanos(this.now))
  readonly monotonicTimeNanos = Effect.sync(() => nanos(this.now))

  currentTimeMillisUnsafe(): number {
    return this.now
  }

  currentTimeNanosUnsafe(): bigint {
    return nanos(this.now)
  }

  monotonicTimeNanosUnsafe(): bigint {
    return nanos(this.now)
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const millis = Duration.toMillis(duration)
      if (millis <= 0) return resume(Effect.void)
      const sleep = this.after(millis, () => resume(Effect.void))
      return Effect.sync(() => {
        const index = this.sleeps.indexOf(sleep)
        if (index !== -1) this.sleeps.splice(index, 1)
      })
    })
  }

  /** Calls `wake` after this many milliseconds. */
  after(millis: number, wake: () => void): Sleep {
    const sleep: Sleep = { until: this.now + millis, wake }
    const later = this.sleeps.findIndex(({ until }) => until > sleep.until)
    this.sleeps.splice(later === -1 ? this.sleeps.length : later, 0, sleep)
    return sleep
  }

  /** True if a sleep is pending. */
  get isAwaited(): boolean {
    return this.sleeps.length > 0
  }

  /** Advances to the end of the next sleep and completes it. Returns false if there is none before `limit`, in milliseconds. */
  advance(limit: number): boolean {
    const next = this.sleeps[0]
    if (next === undefined || !(next.until <= limit)) return false
    this.sleeps.shift()
    this.now = next.until
    next.wake()
    return true
  }
}
