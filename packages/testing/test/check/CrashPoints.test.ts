/** Results of `CrashPoints` for correct and incorrect handlers. */
import { Elicitation, Once, Progress } from "@effect-mcp/core"
import { CrashPoints } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"

const step = (name: string) => Once.run(name, Schema.String, Effect.succeed(name))
const both = Effect.zipWith(step("a"), step("b"), (a, b) => a + b)

/** Side effects of the handler. */
class Count extends Context.Service<Count, { count: number }>()("Count") {}
const world = Layer.sync(Count, () => ({ count: 0 }))
const counted = Effect.map(Count, (outside) => ++outside.count)

describe("CrashPoints.forAll", () => {
  it.effect("`CrashPoints` runs a handler without a crash, and with one before and after each write", () =>
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

  it.effect("`CrashPoints` covers questions, sleeps, messages and parked tasks", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        yield* Progress.report(1, { message: "begun" })
        yield* Elicitation.confirm("Sure?")
        yield* Once.sleep("rest", "2 minutes")
        return yield* both
      })
      const runs = yield* CrashPoints.forAll(handler, Elicitation.layerAccept())
      // The first node parks the task, and the second continues it.
      assert.isAtLeast(runs.length, 1 + 2 * 4)
      for (const { exit } of runs) assert.deepStrictEqual(exit, Exit.succeed("ab"))
    })
  )

  it.effect("`CrashPoints` accepts a handler's failure as an outcome", () =>
    Effect.gen(function* () {
      const runs = yield* CrashPoints.forAll(Effect.andThen(step("a"), Effect.fail("full")), Layer.empty)
      for (const { exit } of runs) assert.deepStrictEqual(exit, Exit.fail("full"))
    })
  )

  it.effect("`CrashPoints` detects a result produced outside steps", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(CrashPoints.forAll(Effect.andThen(step("a"), counted), world))
      assert.include(error, { _tag: "CrashMismatch" })
      assert.include(error.message, "Succeeded with 1 where no node dies, but Succeeded with 2 (before write 2)")
    })
  )

  it.effect("`CrashPoints` supports a handler that renames a step between attempts", () =>
    Effect.gen(function* () {
      const handler = Effect.flatMap(counted, (count) => Effect.as(step(`step ${count}`), "done"))
      const runs = yield* CrashPoints.forAll(handler, world)
      assert.deepStrictEqual(runs[2]?.steps, ["step 1", "step 2"])
    })
  )

  it.effect("`CrashPoints` passes each world to the test's check, which can fail", () =>
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

  it.effect("`CrashPoints` fails a task that does not end in time", () =>
    Effect.gen(function* () {
      const [run] = yield* CrashPoints.forAll(Effect.never, Layer.empty, { within: "1 minute" })
      assert.isTrue(run !== undefined && Exit.isFailure(run.exit))
    })
  )
})
