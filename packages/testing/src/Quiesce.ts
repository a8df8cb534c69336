/**
 * Waits until nothing can go on by itself: the end of everything that a test has set going in memory.
 *
 * Rests on Node: Effect's scheduler runs fibers in immediates, and Node counts those that wait. Sockets, files, child processes and
 * timers are not counted: wait for what they bring.
 */
import * as Effect from "effect/Effect"

const isIdle = (): boolean => !process.getActiveResourcesInfo().includes("Immediate")

/** Those that wait share one immediate: each of its own would count as what the others wait for. */
const waiting = new Set<() => void>()
let looking = false

// An immediate runs after all microtasks; those of its round that are still to come count as waiting.
const look = (): void => {
  if (!isIdle()) return void setImmediate(look)
  looking = false
  const all = [...waiting]
  waiting.clear()
  for (const resume of all) resume()
}

/**
 * Completes when no fiber is ready to run and no microtask waits. Time of the `TestClock` does not pass meanwhile. Never completes while a
 * fiber yields again and again.
 */
export const quiesce: Effect.Effect<void> = Effect.callback((resume) => {
  const done = (): void => resume(Effect.void)
  waiting.add(done)
  if (!looking) setImmediate(look)
  looking = true
  return Effect.sync(() => waiting.delete(done))
})
