/**
 * Waits until no fiber can run: the end of all work that a test has started in memory.
 *
 * Relies on Node: Effect's scheduler runs fibers in immediates, and Node reports those that wait. Sockets, files, child processes and
 * timers are not included: wait for their results.
 */
import * as Effect from "effect/Effect"

const isIdle = (): boolean => !process.getActiveResourcesInfo().includes("Immediate")

/**
 * The waiting calls share one immediate: several would wait for each other. An array that is made anew: the tables of a Set keep what was
 * in them alive for young garbage collections, here all that a conversation consists of.
 */
let waiting: Array<() => void> = []
let looking = false

// An immediate runs after all microtasks; later ones of the same round count as waiting.
const look = (): void => {
  if (!isIdle()) return void setImmediate(look)
  looking = false
  const all = waiting
  waiting = []
  for (const resume of all) resume()
}

/**
 * Completes when no fiber is ready to run and no microtask waits. The `TestClock` does not advance. Never completes while a fiber yields
 * again and again.
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
