/** A clock whose sleeps are controlled by the test; until it ends them, nothing that waits is late. */
import { Clock, Deferred, Duration, Effect, Queue } from "effect"

export interface Sleeps {
  readonly clock: Clock.Clock
  /**
   * Waits for the next sleep whose length in milliseconds is `wanted`, ends it and returns its length. Other sleeps continue.
   */
  readonly wake: (wanted: (millis: number) => boolean) => Effect.Effect<number>
}

export const make: Effect.Effect<Sleeps> = Effect.gen(function* () {
  const real = yield* Clock.Clock
  const asleep = yield* Queue.unbounded<{
    readonly millis: number
    readonly done: Deferred.Deferred<void>
    /** True if the sleep was interrupted. */
    over: boolean
  }>()
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe(),
    currentTimeMillis: real.currentTimeMillis,
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe(),
    currentTimeNanos: real.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: real.monotonicTimeNanos,
    sleep: (duration) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<void>()
        const sleep = { millis: Duration.toMillis(duration), done, over: false }
        Queue.offerUnsafe(asleep, sleep)
        return Effect.onInterrupt(Deferred.await(done), () =>
          Effect.sync(() => {
            sleep.over = true
          })
        )
      })
  }
  const wake: Sleeps["wake"] = (wanted) =>
    Effect.flatMap(Queue.take(asleep), ({ done, over, millis }) =>
      wanted(millis) && !over ? Effect.as(Deferred.succeed(done, undefined), millis) : wake(wanted)
    )
  return { clock, wake }
})
