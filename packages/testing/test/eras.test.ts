/** Any handler in a small language behaves the same in every revision that has its questions, and fails with a typed error in the others. */
import { Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import * as McpCheck from "../src/check/McpCheck.ts"
import * as McpTest from "../src/McpTest.ts"
import { everyone, expect, handlerOf, type Program, programs } from "./programs.ts"

const Run = Tool.make("run", { description: "" })
const said = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({ value: Schema.optionalKey(Schema.Unknown), failed: Schema.optionalKey(Schema.String) })
  )
)

const play = Effect.fnUntraced(function* (program: Program, revision: Revision.Revision) {
  const log: Array<string> = []
  const handled = handlerOf(program, log).pipe(
    Effect.map((value) => ({ value })),
    Effect.catch((error) => Effect.succeed({ failed: error._tag === "ToolFailure" ? error.message : error._tag }))
  )
  const features = Tools.layer(Run, () => Effect.map(handled, (outcome) => JSON.stringify(outcome)))
  const client = yield* McpTest.connect(features, revision)
  const { content } = yield* client.callTool(Run, {}, { onProgress: () => {} })
  const [block] = content
  assert(block?.type === "text")
  return { ...said(block.text), steps: log }
})

const check = Effect.fnUntraced(function* (
  program: Program,
  revision: Revision.Revision,
  lacking: ReadonlySet<string>
) {
  const { failed, steps, value } = yield* Effect.scoped(play(program, revision))
  const expected = expect(program, lacking)
  const where = `${revision.version}: ${JSON.stringify(program)}`
  assert.strictEqual(new Set(steps).size, steps.length, `A step ran twice, ${where}`)
  if (expected.failures.size > 0) {
    assert(
      failed !== undefined && expected.failures.has(failed),
      `${failed} is not one of ${[...expected.failures].join()}, ${where}`
    )
  } else {
    assert.deepStrictEqual({ failed, value }, { failed: undefined, value: expected.value }, where)
    assert.deepStrictEqual(steps.toSorted(), expected.steps.toSorted(), where)
  }
})

const options = { runs: 100, seed: 20_260_728 }
const passes = <E, R>(checked: Effect.Effect<Arbitrary.CheckResult<Program, E>, never, R>) =>
  Effect.map(checked, (result) => assert.isUndefined(Arbitrary.formatCheckFailure(result)))

describe("Random handlers", () => {
  for (const revision of Revision.all) {
    const hasForms = revision.rules.elicitation.form
    const lacking = new Set(hasForms ? [] : ["form", "confirm", "dismiss"])
    it.effect(
      `A random handler follows its program in ${revision.version}${hasForms ? "" : ", or fails without the form capability"}`,
      () =>
        passes(
          Arbitrary.checkEffect(programs, (program) => Effect.as(check(program, revision, lacking), true), options)
        ).pipe(Effect.provide(everyone))
    )

    it.effect(`A random handler fails for lack of capability in ${revision.version} if the client has no user`, () =>
      passes(
        Arbitrary.checkEffect(
          programs,
          (program) =>
            Effect.as(check(program, revision, new Set(["form", "confirm", "dismiss", "sample", "roots"])), true),
          { ...options, runs: 25 }
        )
      )
    )
  }

  it.effect("A random handler passes `McpCheck.interpreters`", () =>
    passes(
      Arbitrary.checkEffect(
        programs,
        (program) =>
          // If siblings fail at the same moment, any of them may be first, so only programs with at most one failure are compared.
          expect(program, new Set()).failures.size > 1
            ? Effect.succeed(true)
            : Effect.as(McpCheck.interpreters(handlerOf(program, []), everyone), true),
        { ...options, runs: 30 }
      )
    )
  )
})
