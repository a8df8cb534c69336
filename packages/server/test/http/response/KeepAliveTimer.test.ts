/** The timer of an endpoint's streams, by hand. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, type Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Pulse } from "../../../src/http/response/KeepAliveTimer.ts"

const making = Effect.fnUntraced(function* (every: Duration.Input) {
  const context = yield* Effect.context<Scope.Scope>()
  const fibers: Array<Fiber.Fiber<void>> = []
  const pulse = new Pulse(every, yield* Clock.Clock, (effect: Effect.Effect<void>) => {
    const fiber = Effect.runForkWith(context)(effect)
    fibers.push(fiber)
    return fiber
  })
  const told: Array<string> = []
  const stream = (name: string) => ({ overdue: () => void told.push(name) })
  return { pulse, told, stream, timers: () => fibers.filter((fiber) => fiber.pollUnsafe() === undefined).length }
})
const make = making("10 seconds")

describe("the pulse of an endpoint", () => {
  it.effect("tells each that waits once, as soon as it has waited for long enough and not before", () =>
    Effect.gen(function* () {
      const { pulse, stream, told } = yield* make
      const [one, other] = [stream("one"), stream("other")]
      pulse.add(one)
      yield* TestClock.adjust("4 seconds")
      pulse.add(other)
      yield* TestClock.adjust("5999 millis")
      assert.deepStrictEqual(told, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(told, ["one"])
      pulse.add(one)
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(told, ["one", "other"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(told, ["one", "other", "one"])
    })
  )

  it.effect("counts anew from when something was said, and forgets who has gone", () =>
    Effect.gen(function* () {
      const { pulse, stream, told } = yield* make
      const [one, other] = [stream("one"), stream("other")]
      pulse.add(one)
      pulse.add(other)
      yield* TestClock.adjust("9 seconds")
      pulse.add(one)
      pulse.remove(other)
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(told, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["one"])
    })
  )

  it.effect("is one timer however many wait, and none where nobody does", () =>
    Effect.gen(function* () {
      const { pulse, stream, timers } = yield* make
      assert.strictEqual(timers(), 0)
      const streams = Array.from({ length: 100 }, (_, at) => stream(`${at}`))
      for (const one of streams) {
        pulse.add(one)
        yield* TestClock.adjust("10 millis")
      }
      assert.strictEqual(timers(), 1)
      for (const one of streams) pulse.remove(one)
      assert.strictEqual(timers(), 0)
      pulse.add(stream("late"))
      assert.strictEqual(timers(), 1)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(timers(), 0)
    })
  )

  it.effect.each([0, "0 seconds", Infinity] as const)("that is to say so every %s says nothing", (every) =>
    Effect.gen(function* () {
      const { pulse, stream, told, timers } = yield* making(every)
      pulse.add(stream("one"))
      assert.strictEqual(timers(), 0)
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(told, [])
    })
  )
})
