/** A point between two steps of fibers, the same in every run. */
import { Effect, type Fiber } from "effect"
import { MixedScheduler } from "effect/Scheduler"

/** Calls `reached` once, after the given number of fiber steps on this scheduler and within `during`. */
export class StepScheduler extends MixedScheduler {
  /** True if the fibers ran that many steps. */
  isReached = false
  private left: number
  private isCounting = false
  private readonly reached: (fiber: Fiber.Fiber<unknown, unknown>) => void

  constructor(steps: number, reached: (fiber: Fiber.Fiber<unknown, unknown>) => void) {
    super()
    this.left = steps
    this.reached = reached
  }

  /** Counts while the effect runs. */
  during<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const count = (isCounting: boolean) => Effect.sync(() => void (this.isCounting = isCounting))
    return Effect.ensuring(Effect.andThen(count(true), effect), count(false))
  }

  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (this.isCounting && --this.left === 0) {
      this.isReached = true
      this.reached(fiber)
    }
    return super.shouldYield(fiber)
  }
}
