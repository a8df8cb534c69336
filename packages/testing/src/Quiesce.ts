/**
 * Waits until no fiber can run, which means that all of a test's in-memory work is done.
 *
 * Relies on Node: Effect's scheduler runs fibers in immediates, and Node reports which ones are pending. This does not cover sockets,
 * files, child processes or timers, so wait for their results instead.
 */
import * as Effect from "effect/Effect"

const isIdle = (): boolean => !process.getActiveResourcesInfo().includes("Immediate")

/**
 * Pending calls share one immediate, because several would wait for each other. An array that is replaced, not a Set: the tables of a Set
 * keep removed entries, in this case whole conversations, alive across minor garbage collections.
 */
let waiting: Array<() => void> = []
let looking = false

// An immediate runs after all microtasks. Immediates queued in the same round count as pending.
const look = (): void => {
  if (!isIdle()) return void setImmediate(look)
  looking = false
  const all = waiting
  waiting = []
  for (const resume of all) resume()
}

/**
 * Completes when no fiber is ready to run and no microtask is pending. Does not advance the `TestClock`. Never completes if a fiber keeps
 * yielding.
 *
 * @example
 * ```ts
 * import { quiesce } from "@effect-mcp/testing"
 * import { Effect } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   let steps = 0
 *   yield* Effect.forkChild(Effect.replicateEffect(Effect.andThen(Effect.yieldNow, Effect.sync(() => steps++)), 20))
 *   yield* quiesce
 *   console.log(steps) // => 20
 * })
 *
 * await Effect.runPromise(test)
 * ```
 */
export const quiesce: Effect.Effect<void> = Effect.callback((resume) => {
  const done = (): void => resume(Effect.void)
  waiting.push(done)
  if (!looking) setImmediate(look)
  looking = true
  return Effect.sync(() => {
    waiting = waiting.filter((each) => each !== done)
  })
})
