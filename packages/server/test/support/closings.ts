/**
 * Ways to close a scope: by a running fiber, or by one that was interrupted, like the main fiber of a program after a signal.
 */
import { Effect, Fiber } from "effect"

type Closing = (close: Effect.Effect<void>) => Effect.Effect<void>

const byInterruption: Closing = (close) =>
  Effect.flatMap(Effect.forkChild(Effect.ensuring(Effect.never, close), { startImmediately: true }), Fiber.interrupt)

export const closings: ReadonlyArray<readonly [how: string, closing: Closing]> = [
  ["", (close) => close],
  [" even if its fiber is interrupted", byInterruption]
]
