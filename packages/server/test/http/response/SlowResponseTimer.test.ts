/** The timer of POSTs that are not answered yet, by hand. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Exit, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { Patience } from "../../../src/http/response/SlowResponseTimer.ts"

const making = Effect.fnUntraced(function* (patience: Duration.Input) {
  const context = yield* Effect.context<never>()
  const watches: Array<Fiber.Fiber<void>> = []
  const told: Array<string> = []
  const waiting = new Patience(patience, yield* Clock.Clock, (effect: Effect.Effect<void>) =>
    watches.push(Effect.runForkWith(context)(effect))
  )
  /** Waits for `latch`. */
  const wait = (name: string, latch: Latch.Latch) =>
    Effect.forkChild(waiting.during(latch.await, { overdue: () => void told.push(name) }), { startImmediately: true })
  return { told, wait, running: () => watches.filter((fiber) => fiber.pollUnsafe() === undefined).length }
})

describe("the patience with POSTs", () => {
  it.effect("ends for each that waits once, when it has waited for long enough and not before", () =>
    Effect.gen(function* () {
      const { told, wait } = yield* making("100 millis")
      const never = Latch.makeUnsafe(false)
      yield* wait("one", never)
      yield* TestClock.adjust("40 millis")
      yield* wait("other", never)
      yield* TestClock.adjust("59 millis")
      assert.deepStrictEqual(told, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(told, ["one"])
      yield* TestClock.adjust("40 millis")
      assert.deepStrictEqual(told, ["one", "other"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["one", "other"])
      yield* wait("later", never)
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(told, ["one", "other", "later"])
    })
  )

  it.effect("does not end for who has what it waited for, or does not wait any more", () =>
    Effect.gen(function* () {
      const { told, wait } = yield* making("100 millis")
      const latch = Latch.makeUnsafe(false)
      const answered = yield* wait("answered", latch)
      const gone = yield* wait("gone", Latch.makeUnsafe(false))
      latch.openUnsafe()
      yield* Fiber.interrupt(gone)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(answered)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("is one fiber however many wait, and none when nobody does", () =>
    Effect.gen(function* () {
      const { running, told, wait } = yield* making("100 millis")
      const latch = Latch.makeUnsafe(false)
      assert.strictEqual(running(), 0)
      for (let i = 0; i < 100; i++) yield* wait("many", latch)
      assert.strictEqual(running(), 1)
      latch.openUnsafe()
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(running(), 0)
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("is none at all where it is 0", () =>
    Effect.gen(function* () {
      const { told, wait } = yield* making(0)
      yield* wait("one", Latch.makeUnsafe(false))
      assert.deepStrictEqual(told, ["one"])
    })
  )
})
