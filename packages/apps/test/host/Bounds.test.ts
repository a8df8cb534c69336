import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeRate } from "../../src/host/Bounds.ts"

it.effect("A clock that is set back does not close a view", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(3_600_000)
    const rate = yield* makeRate(5)
    assert.strictEqual(yield* rate, "accepted")
    yield* TestClock.setTime(0)
    assert.strictEqual(yield* rate, "accepted")
  })
)
