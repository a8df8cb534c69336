/**
 * Fibers that belong together: `Fiber.runIn` for owners that see thousands of them come and go in a second, for which a Scope's table of
 * finalizers is not made (see `BusyMap`).
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { BusyMap } from "./BusyMap.ts"

export class Fibers {
  private readonly running = new BusyMap<Fiber.Fiber<unknown, unknown>, Fiber.Fiber<unknown, unknown>>()
  private ended = false

  /** Owns the fiber until it ends; one that comes after the end is interrupted. */
  add(fiber: Fiber.Fiber<unknown, unknown>): void {
    if (fiber.pollUnsafe() !== undefined) return
    this.running.set(fiber, fiber)
    fiber.addObserver(() => this.running.delete(fiber))
    if (this.ended) fiber.interruptUnsafe()
  }

  /** Those that run now. */
  all(): ReadonlyArray<Fiber.Fiber<unknown, unknown>> {
    return this.running.values()
  }

  /** Interrupts all, and whichever comes later; waits for them. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.ended = true
    return Fiber.interruptAll(this.all())
  })
}
