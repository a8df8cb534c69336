/** Limits how often a caller can name sessions that no node has, because each such request queries the database. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Maximum number of lookups per caller: those pending, and those that found no session within the last second. */
const perCaller = 256
const second = 1000

export class UnknownSessions {
  private readonly clock: Clock.Clock
  /** Lookups by caller, during the second that started at `since`. */
  private readonly counts = new Map<string, number>()
  private since = 0

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  /** Maximum number of unknown sessions that a caller may ask for. */
  get limit(): number {
    return perCaller
  }

  /** True if the caller has asked too often. */
  isTired(caller: string): boolean {
    const now = this.clock.currentTimeMillisUnsafe()
    if (now - this.since >= second || now < this.since) {
      this.since = now
      this.counts.clear()
    }
    return (this.counts.get(caller) ?? 0) >= perCaller
  }

  /** Counts a lookup while it runs. If it finds no session, it keeps counting until the second is over. */
  counted<A, E>(caller: string, question: Effect.Effect<A, E>, isUnknown: (found: A) => boolean): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.counts.set(caller, (this.counts.get(caller) ?? 0) + 1)
      return Effect.onExit(question, (exit) =>
        Effect.sync(() => {
          const count = this.counts.get(caller) ?? 0
          if ((exit._tag === "Success" && isUnknown(exit.value)) || count === 0) return
          if (count > 1) this.counts.set(caller, count - 1)
          else this.counts.delete(caller)
        })
      )
    })
  }
}
