/** Waits for what a server does: as long as time allows, or, in memory, until nothing more happens by itself. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

/** How often the rest of streams is asked for while the client waits. */
export const mostPolls = 5
/** The longest time that is waited because of a `retry`, in milliseconds. */
export const longestRetry = 1000

/** How long work outside of the scheduler may take in memory, in milliseconds: the state of a round is encrypted there. */
const outsidePatience = 250

/** Real time passes, whatever the clock of the context is. */
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

/** Under a TestClock time passes only when nothing else can happen. */
const pass = Effect.fnUntraced(function* (isDone: () => boolean, patience: number, settle: Effect.Effect<void>) {
  for (let step = 0; step < 4 && !isDone(); step++) {
    yield* TestClock.adjust(patience / 4)
    yield* settle
  }
})

export interface Options {
  /** Completes when nothing more happens by itself; undefined where only time tells. */
  readonly settle: Effect.Effect<void> | undefined
  /** Whether the server works outside of the scheduler. */
  readonly outside: boolean
}

export class Waiting {
  private readonly checks = new Set<() => void>()
  private readonly options: Options
  /** Whether anything has happened since the server settled: without it, the server has nothing to do. */
  private moved = true

  constructor(options: Options) {
    this.options = options
  }

  /** Called when anything has happened. */
  readonly tell = (): void => {
    this.moved = true
    for (const check of Array.from(this.checks)) check()
  }

  /** Waits until it is so, or as long as the patience lasts, in milliseconds. */
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

  /** What the server does not do by itself at once: work outside of the scheduler, and what waits for a time. */
  private later(isDone: () => boolean, patience: number, settle: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.options.outside) yield* outside(isDone, settle)
      if (isDone()) return
      const clock = yield* Clock.Clock
      yield* "adjust" in clock ? pass(isDone, patience, settle) : this.timed(isDone, patience)
    })
  }
}
