/** Any handler in the small language ends the same way inline, in rounds, and as a task in either era. */
import { Elicitation, Tool, Tools } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Context, Deferred, Effect, Exit, Layer, Schema } from "effect"
import * as McpCheck from "../src/check/McpCheck.ts"
import * as McpTest from "../src/McpTest.ts"
import { answered, everyone, expect, handlerOf, type Leaf, type Program, programs } from "./programs.ts"

const tasks = Tasks.layer({ pollInterval: "100 millis" })
const options = { runs: 25, seed: 20_251_125 }
const passes = <A, E, R>(checked: Effect.Effect<Arbitrary.CheckResult<A, E>, never, R>) =>
  Effect.map(checked, (result) => assert.isUndefined(Arbitrary.formatCheckFailure(result)))

const isInOrder = (program: Program): boolean =>
  program.of === undefined || (program._tag === "sequence" && program.of.every(isInOrder))

/** True if no failure has concurrent siblings, whose progress would depend on timing. Only such programs are compared. */
const isComparable = (program: Program): boolean => isInOrder(program) || expect(program, new Set()).failures.size === 0

describe("McpCheck.interpreters with tasks", () => {
  it.effect("`McpCheck.interpreters` accepts any handler as a task", () =>
    passes(
      Arbitrary.checkEffect(
        programs,
        (program) =>
          isComparable(program)
            ? Effect.map(
                McpCheck.interpreters(handlerOf(program, []), everyone, { tasks }),
                ({ length }) => length === 6
              )
            : Effect.succeed(true),
        options
      )
    )
  )
})

// --- result for the caller ---

const versions = ["2025-11-25", "2026-07-28"] as const
const failure = Schema.Struct({ failed: Schema.String })
const Inline = Tool.make("inline", { description: "", output: { json: Schema.String }, failure })
const AsTask = Tool.make("task", { description: "", output: { json: Schema.String }, failure, task: "required" })

const features = (program: Program, log: Array<string>) => {
  const handler = handlerOf(program, log).pipe(
    Effect.map((value) => ({ json: JSON.stringify(value) })),
    Effect.catchTag("ToolFailure", ({ message }) => Effect.fail({ failed: message }))
  )
  return Layer.mergeAll(
    Tools.layer(Inline, () => handler),
    Tools.layer(AsTask, () => handler),
    Layer.fresh(tasks)
  )
}

/** How a call ends for its caller. */
const outcome = (exit: Exit.Exit<{ readonly json: string }, object>) =>
  Exit.match(exit, {
    onSuccess: ({ json }): object => ({ json }),
    onFailure: ({ reasons }): object => reasons.map((reason) => (reason._tag === "Fail" ? { ...reason.error } : reason))
  })

describe("Calls with any handler", () => {
  for (const version of versions) {
    it.effect(`A call in ${version} has the same outcome as a task and inline`, () =>
      passes(
        Arbitrary.checkEffect(
          programs,
          (program) =>
            Effect.gen(function* () {
              if (!isComparable(program)) return true
              const log: Array<string> = []
              const client = yield* McpTest.connect(features(program, log), version)
              // The client's task polling also depends on the clock.
              const call = (tool: typeof Inline) =>
                Effect.map(
                  Effect.exit(
                    Effect.provideService(client.callTool(tool, {}), Clock.Clock, Clock.Clock.defaultValue())
                  ),
                  outcome
                )
              const inline = yield* call(Inline)
              const steps = log.splice(0)
              const task = yield* call(AsTask)
              const where = `${version}: ${JSON.stringify(program)}`
              assert.deepStrictEqual(task, inline, where)
              assert.deepStrictEqual(log.toSorted(), steps.toSorted(), where)
              return true
            }).pipe(Effect.scoped, Effect.provide(everyone)),
          options
        )
      )
    )
  }
})

// --- cancels ---

/** Completes when the caller should cancel. */
class Stop extends Context.Service<Stop, Deferred.Deferred<void>>()("test/Stop") {
  static readonly layer = Layer.effect(Stop, Deferred.make<void>())
  static readonly now = Effect.flatMap(Stop, (stop) => Deferred.succeed(stop, undefined))
  static readonly said = Effect.flatMap(Stop, Deferred.await)
}

/** A user whose program cancels the call instead of answering the form `stop`. */
const impatient = Layer.provideMerge(
  Layer.merge(
    everyone,
    Elicitation.layer({
      form: ({ message }) =>
        message === "stop" ? Effect.andThen(Stop.now, Effect.never) : Effect.succeed(answered(message))
    })
  ),
  Stop.layer
)

/** State when the caller cancels: a pending question, or work of the handler. */
const stops = {
  asking: Elicitation.confirm("stop"),
  working: Effect.andThen(Stop.now, Effect.never)
}

const harmless = Schema.Array(Schema.Literals(["form", "confirm", "sample", "roots", "once", "progress"]))
const Stopped = Schema.Struct({
  before: harmless.check(Schema.isMaxLength(4)),
  during: Schema.Literals(["asking", "working"]),
  after: harmless.check(Schema.isMaxLength(2))
})

describe("Cancelling random handlers", () => {
  it.effect("Cancelling runs finalizers and skips later steps under every interpreter", () =>
    passes(
      Arbitrary.checkEffect(
        Arbitrary.schema(Stopped),
        ({ after, before, during }) =>
          Effect.gen(function* () {
            const open = { count: 0 }
            const parts = (leaves: ReadonlyArray<Leaf>, where: string) =>
              Effect.all(leaves.map((_tag, i) => handlerOf({ _tag, name: `${_tag} ${where} ${i}` }, [])))
            const handler = Effect.gen(function* () {
              yield* parts(before, "before")
              yield* stops[during]
              yield* parts(after, "after")
            })
            const held = Effect.acquireUseRelease(
              Effect.sync(() => open.count++),
              () => handler,
              () => Effect.sync(() => open.count--)
            )
            const runs = yield* McpCheck.interpreters(held, impatient, { tasks, cancel: Stop.said })
            assert.strictEqual(open.count, 0)
            for (const { exit, interpreter, steps } of runs) {
              assert.isTrue(Exit.hasInterrupts(exit), interpreter)
              assert.strictEqual(steps.length, before.filter((leaf) => leaf === "once").length, interpreter)
            }
            return true
          }),
        options
      )
    )
  )
})
