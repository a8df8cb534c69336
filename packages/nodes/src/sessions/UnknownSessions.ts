/** How often each caller names sessions that no node has: each such request asks the database, so that none may ask without end. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Questions of one caller that have no answer yet, or found no session within the second. */
const perCaller = 256
const second = 1000

export class UnknownSessions {
  private readonly clock: Clock.Clock
  /** Questions by caller, in the second that began at `since`. */
  private readonly counts = new Map<string, number>()
  private since = 0

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  /** How many unknown sessions a caller may ask for. */
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

  /** Counts a question for as long as it runs; one that found no session counts until the second is over. */
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
