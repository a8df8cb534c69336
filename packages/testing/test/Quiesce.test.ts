/** `quiesce` waits for everything that is ready to run, and for nothing else. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"

describe("quiesce", () => {
  it.effect("`quiesce` waits for a fiber however often it yields", () =>
    Effect.gen(function* () {
      let turns = 0
      yield* Effect.forkChild(
        Effect.repeat(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          ),
          { until: (n) => n === 4999 }
        )
      )
      yield* quiesce
      assert.strictEqual(turns, 5000)
    })
  )

  it.effect("`quiesce` waits for work passed between fibers, queues and promises", () =>
    Effect.gen(function* () {
      const queues = yield* Effect.forEach(Array.from({ length: 50 }), () => Queue.unbounded<number>())
      const last = queues.at(-1)!
      yield* Effect.forEach(queues.slice(1), (to, index) =>
        Effect.forkChild(
          Effect.flatMap(Queue.take(queues[index]!), (n) =>
            Effect.andThen(
              Effect.promise(() => Promise.resolve()),
              Queue.offer(to, n + 1)
            )
          )
        )
      )
      yield* Queue.offer(queues[0]!, 0)
      yield* quiesce
      assert.strictEqual(yield* Queue.size(last), 1)
      assert.strictEqual(yield* Queue.take(last), 49)
    })
  )

  it.effect("`quiesce` does not wait for a suspended fiber and does not advance time", () =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<void>()
      const waiting = yield* Effect.forkChild(Deferred.await(never))
      const sleeping = yield* Effect.forkChild(Effect.sleep("1 second"))
      yield* quiesce
      assert.isUndefined(waiting.pollUnsafe())
      assert.isUndefined(sleeping.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(sleeping)
    })
  )

  it.effect("`quiesce` can be interrupted and used by many fibers at once", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.forkChild(quiesce, { startImmediately: true })
      yield* Fiber.interrupt(asking)
      yield* Effect.all([quiesce, quiesce, quiesce], { concurrency: "unbounded" })
    })
  )
})
