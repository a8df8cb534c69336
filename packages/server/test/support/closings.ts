/** The ways to close a scope: by a fiber that runs, or by one that was interrupted, as the main fiber of a program at a signal. */
import { Effect, Fiber } from "effect"

type Closing = (close: Effect.Effect<void>) => Effect.Effect<void>

const byInterruption: Closing = (close) =>
  Effect.flatMap(Effect.forkChild(Effect.ensuring(Effect.never, close), { startImmediately: true }), Fiber.interrupt)

export const closings: ReadonlyArray<readonly [how: string, closing: Closing]> = [
  ["", (close) => close],
  [" though its fiber is interrupted", byInterruption]
]
