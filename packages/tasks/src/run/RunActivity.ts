/**
 * Tracks what a run of a task does and waits for, so that a run which only waits can be parked: a row of its store instead of fibers.
 *
 * A run only waits where a question or a sleep is open, no step runs, and its fibers were idle for 30 seconds. Work that is
 * longer without a sign belongs into a step.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { HandlerScheduler } from "@effect-mcp/core/internal/HandlerContext"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Fiber from "effect/Fiber"
import { Scheduler } from "effect/Scheduler"
import type { Wake } from "../store/Journal.ts"

/** How often a run is looked at, in milliseconds. */
const look = 10_000
/** How many looks in a row must see that the run only waits. */
const looks = 3

/** Notes that the run of a fiber is busy: Effect asks the scheduler before each operation. A fiber belongs to a run by its `TaskClient`. */
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

/** The context of handlers, on a scheduler that notes when one of their fibers does anything. */
export const watching = <R>(context: Context.Context<R>): Context.Context<R> => {
  const scheduler = new NotingScheduler(Context.get(context, Scheduler))
  return context.pipe(Context.add(Scheduler, scheduler), Context.add(HandlerScheduler, scheduler))
}

/** What a run waits for: the answer to a question of a method, or the end of a sleep in milliseconds since the epoch. */
type Wait = { readonly method: string } | { readonly until: number }

export class RunActivity {
  /** The open questions and sleeps by key. */
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

  /** Runs a step; from `quiet` on none begins. */
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

  /** Lets no new step begin; completes when none runs. */
  get quiet(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.isDraining = true
      return this.noStepRuns.await
    })
  }

  /** A fiber of the run is busy. */
  note(): void {
    this.isActive = true
  }

  /** The methods of the open questions. */
  get asking(): ReadonlyArray<string> {
    return [...this.open.values()].flatMap((wait) => ("method" in wait ? [wait.method] : []))
  }

  /** When the first of its sleeps ends, where no step runs. */
  get wakesAt(): number | undefined {
    const ends = [...this.open.values()].flatMap((wait) => ("until" in wait ? [wait.until] : []))
    return ends.length === 0 || this.steps > 0 ? undefined : Math.min(...ends)
  }

  /** Completes when the run only waits, with what for. */
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

  /** Undefined where it waits for nothing, or not for long. */
  private wake(now: number): Wake | undefined {
    if (this.open.size === 0) return undefined
    const at = this.wakesAt
    if (at !== undefined && at - now < look * looks) return undefined
    const answers = [...this.open].flatMap(([key, wait]) => ("method" in wait ? [key] : []))
    return { at, answers }
  }
}
