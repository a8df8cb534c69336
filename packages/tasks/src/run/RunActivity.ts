/**
 * Tracks the current activity and open waits of a task run, so that a run that is only waiting can be parked. A parked run has no fibers
 * and is only a row in the store.
 *
 * A run only waits if a question or a sleep is open, no step is running, and its fibers have been idle for 30 seconds. Longer work without
 * activity must be a step.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { HandlerScheduler } from "@effect-mcp/core/internal/handlers"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Fiber from "effect/Fiber"
import { Scheduler } from "effect/Scheduler"
import type { Wake } from "../store/Journal.ts"

/** Interval in milliseconds at which a run is checked. */
const look = 10_000
/** Number of consecutive checks that must find the run waiting. */
const looks = 3

/**
 * Records that a fiber's run is busy, because Effect calls the scheduler before each operation. The fiber's `TaskClient` determines its
 * run.
 */
class NotingScheduler implements Scheduler {
  readonly executionMode: Scheduler["executionMode"]
  private readonly ambient: Scheduler

  constructor(ambient: Scheduler) {
    this.executionMode = ambient.executionMode
    this.ambient = ambient
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    const client = Context.getOrUndefined(fiber.context, ClientInput)
    if (client !== undefined && "activity" in client && client.activity instanceof RunActivity) client.activity.note()
    return this.ambient.shouldYield(fiber)
  }

  makeDispatcher(): ReturnType<Scheduler["makeDispatcher"]> {
    return this.ambient.makeDispatcher()
  }
}

/** Adds a scheduler to a handler's context that records when one of its fibers does anything. */
export const watching = <R>(context: Context.Context<R>): Context.Context<R> => {
  const scheduler = new NotingScheduler(Context.get(context, Scheduler))
  return context.pipe(Context.add(Scheduler, scheduler), Context.add(HandlerScheduler, scheduler))
}

/** An open wait: for the answer to a question of this method, or for the end of a sleep in milliseconds since 1970. */
type Wait = { readonly method: string } | { readonly until: number }

export class RunActivity {
  /** Open questions and sleeps by key. */
  private readonly open = new Map<string, Wait>()
  private readonly isWaiting = Latch.makeUnsafe(false)
  private readonly noStepRuns = Latch.makeUnsafe(true)
  private steps = 0
  private isActive = false
  private isDraining = false

  /** Waits for the answer to a question, or for the end of a sleep. */
  during<A, E, R>(key: string, what: Wait, wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      this.open.set(key, what)
      this.isWaiting.openUnsafe()
      return Effect.ensuring(
        wait,
        Effect.sync(() => {
          this.open.delete(key)
          if (this.open.size === 0) this.isWaiting.closeUnsafe()
        })
      )
    })
  }

  /** Runs a step. After `quiet`, no step starts. */
  step<A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      if (this.isDraining) return Effect.never
      this.steps++
      this.noStepRuns.closeUnsafe()
      return Effect.ensuring(
        step,
        Effect.sync(() => {
          if (--this.steps === 0) this.noStepRuns.openUnsafe()
        })
      )
    })
  }

  /** Prevents new steps from starting. Completes when no step is running. */
  get quiet(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.isDraining = true
      return this.noStepRuns.await
    })
  }

  /** Records that one of the run's fibers is busy. */
  note(): void {
    this.isActive = true
  }

  /** Methods of the open questions. */
  get asking(): ReadonlyArray<string> {
    return [...this.open.values()].flatMap((wait) => ("method" in wait ? [wait.method] : []))
  }

  /** When the first of its sleeps ends, if no step is running. */
  get wakesAt(): number | undefined {
    const ends = [...this.open.values()].flatMap((wait) => ("until" in wait ? [wait.until] : []))
    return ends.length === 0 || this.steps > 0 ? undefined : Math.min(...ends)
  }

  /** Completes with the reasons when the run is only waiting. */
  get idle(): Effect.Effect<Wake> {
    return Effect.gen({ self: this }, function* () {
      let seen = 0
      while (true) {
        yield* this.isWaiting.await
        this.isActive = false
        yield* Effect.sleep(look)
        const wake = this.wake(yield* Clock.currentTimeMillis)
        seen = this.isActive || this.steps > 0 || wake === undefined ? 0 : seen + 1
        if (wake !== undefined && seen === looks) return wake
      }
    })
  }

  /** Returns `undefined` if it is waiting for nothing, or only briefly. */
  private wake(now: number): Wake | undefined {
    if (this.open.size === 0) return undefined
    const at = this.wakesAt
    if (at !== undefined && at - now < look * looks) return undefined
    const answers = [...this.open].flatMap(([key, wait]) => ("method" in wait ? [key] : []))
    return { at, answers }
  }
}
