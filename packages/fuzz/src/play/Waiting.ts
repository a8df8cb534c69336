/** Waits for the server: by the clock, or for an in-memory server until it is idle. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

/** Maximum number of streams that are resumed in one wait. */
export const mostPolls = 5
/** Limit on the server's `retry`, in milliseconds. */
export const longestRetry = 1000

/** How long work outside the scheduler may take in memory, in milliseconds. Encrypting the state of a round is such work. */
const outsidePatience = 250

/** Waits in real time, regardless of the `Clock` in the context. */
const outside = Effect.fnUntraced(function* (isDone: () => boolean, settle: Effect.Effect<void>) {
  const end = performance.now() + outsidePatience
  while (!isDone() && performance.now() < end) {
    yield* Effect.callback<void>((resume) => {
      const timer = setTimeout(() => resume(Effect.void), 2)
      return Effect.sync(() => clearTimeout(timer))
    })
    yield* settle
  }
})

/** Lets time pass on a `TestClock`, in steps, once nothing else can happen. */
const pass = Effect.fnUntraced(function* (isDone: () => boolean, patience: number, settle: Effect.Effect<void>) {
  for (let step = 0; step < 4 && !isDone(); step++) {
    yield* TestClock.adjust(patience / 4)
    yield* settle
  }
})

export interface Options {
  /** Completes when the server is idle. `undefined` if that cannot be observed. */
  readonly settle: Effect.Effect<void> | undefined
  /** True if the server also does work outside the scheduler. */
  readonly outside: boolean
}

export class Waiting {
  private readonly checks = new Set<() => void>()
  private readonly options: Options
  /** True if anything happened since the server was last idle. */
  private moved = true

  constructor(options: Options) {
    this.options = options
  }

  /** Checks all pending waits. Call it after each event. */
  readonly tell = (): void => {
    this.moved = true
    for (const check of Array.from(this.checks)) check()
  }

  /** Waits until `isDone` returns true, for at most `patience` milliseconds. */
  until(isDone: () => boolean, patience: number): Effect.Effect<void> {
    const { settle } = this.options
    if (settle === undefined) return isDone() ? Effect.void : this.timed(isDone, patience)
    if (!this.moved) return this.settled(isDone, patience, settle)
    return Effect.flatMap(settle, () => {
      this.moved = false
      return this.settled(isDone, patience, settle)
    })
  }

  private settled(isDone: () => boolean, patience: number, settle: Effect.Effect<void>): Effect.Effect<void> {
    return isDone() ? Effect.void : this.later(isDone, patience, settle)
  }

  private timed(isDone: () => boolean, patience: number): Effect.Effect<void> {
    const told = Effect.callback<void>((resume) => {
      const check = () => {
        if (!isDone()) return
        this.checks.delete(check)
        resume(Effect.void)
      }
      this.checks.add(check)
      check()
      return Effect.sync(() => this.checks.delete(check))
    })
    return Effect.asVoid(Effect.timeoutOption(told, patience))
  }

  /** Waits for work outside the scheduler, and for work that depends on time. */
  private later(isDone: () => boolean, patience: number, settle: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.options.outside) yield* outside(isDone, settle)
      if (isDone()) return
      const clock = yield* Clock.Clock
      yield* "adjust" in clock ? pass(isDone, patience, settle) : this.timed(isDone, patience)
    })
  }
}
