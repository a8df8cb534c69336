/** A set of fibers, like `effect/FiberSet`, but for thousands of fibers that start and end within a second (see `BusyMap`). */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { BusyMap } from "./BusyMap.ts"

export class Fibers {
  private readonly running = new BusyMap<Fiber.Fiber<unknown, unknown>, Fiber.Fiber<unknown, unknown>>()
  private ended = false

  /** Adds a fiber until it ends. After `end`, added fibers are interrupted. */
  add(fiber: Fiber.Fiber<unknown, unknown>): void {
    if (fiber.pollUnsafe() !== undefined) return
    this.running.set(fiber, fiber)
    fiber.addObserver(() => this.running.delete(fiber))
    if (this.ended) fiber.interruptUnsafe()
  }

  /** Returns the running fibers. */
  all(): ReadonlyArray<Fiber.Fiber<unknown, unknown>> {
    return this.running.values()
  }

  /** Interrupts all fibers and waits for them to end. Fibers added later are interrupted. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.ended = true
    return Fiber.interruptAll(this.all())
  })
}
