/** What `CrashPoints` says of handlers that are right, and of handlers that are not. */
import { Elicitation, Once, Progress } from "@effect-mcp/core"
import { CrashPoints } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"

const step = (name: string) => Once.run(name, Schema.String, Effect.succeed(name))
const both = Effect.zipWith(step("a"), step("b"), (a, b) => a + b)

/** What the handler changes outside. */
class Count extends Context.Service<Count, { count: number }>()("Count") {}
const world = Layer.sync(Count, () => ({ count: 0 }))
const counted = Effect.map(Count, (outside) => ++outside.count)

describe("CrashPoints.forAll", () => {
  it.effect("`CrashPoints` plays a handler without a death, and before and after each of its writes", () =>
    Effect.gen(function* () {
      const runs = yield* CrashPoints.forAll(both, Layer.empty)
      const points = [1, 2, 3].flatMap((write) => [
        { write, when: "before" as const },
        { write, when: "after" as const }
      ])
      assert.deepStrictEqual(
        runs.map(({ point }) => point),
        [undefined, ...points]
      )
      assert.deepStrictEqual(
        runs.map(({ steps }) => steps.join("")),
        ["ab", "aab", "ab", "abb", "ab", "ab", "ab"]
      )
      for (const { exit } of runs) assert.deepStrictEqual(exit, Exit.succeed("ab"))
    })
  )

  it.effect("`CrashPoints` plays the points of questions, sleeps, messages and parked tasks", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        yield* Progress.report(1, { message: "begun" })
        yield* Elicitation.confirm("Sure?")
        yield* Once.sleep("rest", "2 minutes")
        return yield* both
      })
      const runs = yield* CrashPoints.forAll(handler, Elicitation.layerAccept())
      // The first node parks the task, and the second goes further.
      assert.isAtLeast(runs.length, 1 + 2 * 4)
      for (const { exit } of runs) assert.deepStrictEqual(exit, Exit.succeed("ab"))
    })
  )

  it.effect("`CrashPoints` takes a failure of the handler as its end like any", () =>
    Effect.gen(function* () {
      const runs = yield* CrashPoints.forAll(Effect.andThen(step("a"), Effect.fail("full")), Layer.empty)
      for (const { exit } of runs) assert.deepStrictEqual(exit, Exit.fail("full"))
    })
  )

  it.effect("`CrashPoints` finds a result that code outside of steps makes", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(CrashPoints.forAll(Effect.andThen(step("a"), counted), world))
      assert.include(error, { _tag: "CrashMismatch" })
      assert.include(error.message, "Succeeded with 1 where no node dies, but Succeeded with 2 (before write 2)")
    })
  )

  it.effect("`CrashPoints` plays a handler whose attempts name a step differently, and runs the newly named step", () =>
    Effect.gen(function* () {
      const handler = Effect.flatMap(counted, (count) => Effect.as(step(`step ${count}`), "done"))
      const runs = yield* CrashPoints.forAll(handler, world)
      assert.deepStrictEqual(runs[2]?.steps, ["step 1", "step 2"])
    })
  )

  it.effect("`CrashPoints` shows each world to a check of the test, which may fail", () =>
    Effect.gen(function* () {
      const handler = Once.run("count", Schema.Int, counted)
      const seen: Array<number> = []
      const after = () => Effect.map(Count, ({ count }) => void seen.push(count))
      const error = yield* Effect.flip(CrashPoints.forAll(handler, world, { after }))
      assert.include(error.message, "Succeeded with 2")
      assert.deepStrictEqual(seen, [1, 2])
      assert.strictEqual(
        yield* Effect.flip(CrashPoints.forAll(both, world, { after: () => Effect.fail("wrong world") })),
        "wrong world"
      )
    })
  )

  it.effect("`CrashPoints` fails the run of a task that does not end in its time", () =>
    Effect.gen(function* () {
      const [run] = yield* CrashPoints.forAll(Effect.never, Layer.empty, { within: "1 minute" })
      assert.isTrue(run !== undefined && Exit.isFailure(run.exit))
    })
  )
})
