import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Stream } from "effect"
import { Broadcast } from "../../src/internal/Broadcast.ts"

describe("A broadcast", () => {
  it.effect(
    "A broadcast gives each reader the values from its start on, and the newest of those that a slow reader missed",
    () =>
      Effect.gen(function* () {
        const broadcast = new Broadcast<number>(2)
        const [first, slow] = [Latch.makeUnsafe(), Latch.makeUnsafe()]
        broadcast.send(0)
        const reader = yield* Effect.forkChild(
          broadcast.stream.pipe(
            Stream.tap((value) => (value === 1 ? Effect.andThen(first.open, slow.await) : Effect.void)),
            Stream.take(3),
            Stream.runCollect
          ),
          { startImmediately: true }
        )
        broadcast.send(1)
        yield* first.await
        for (const value of [2, 3, 4]) broadcast.send(value)
        yield* slow.open
        assert.deepStrictEqual(yield* Fiber.join(reader), [1, 3, 4])
      })
  )

  it.effect("A broadcast keeps nothing of a reader that has left", () =>
    Effect.gen(function* () {
      const broadcast = new Broadcast<number>(2)
      const reader = yield* Effect.forkChild(Stream.runDrain(broadcast.stream), { startImmediately: true })
      assert.strictEqual(Reflect.get(broadcast, "readers").size, 1)
      yield* Fiber.interrupt(reader)
      assert.strictEqual(Reflect.get(broadcast, "readers").size, 0)
    })
  )
})
