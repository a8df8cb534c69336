/** A node dies at every point of a task: the result is the same, a body runs twice at most, and an effect with a key once. */
import { Elicitation, Once, Progress } from "@effect-mcp/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import * as Memory from "../../../tasks/src/store/memory.ts"
import { Journal } from "@effect-mcp/tasks/Journal"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { file, open } from "../support/sqlite.ts"
import { forAll } from "./CrashPoints.ts"

/** A handler with every kind of record, and what it does outside: bodies that ran, and a service that does a thing once per key. */
const make = () => {
  const bodies: Array<string> = []
  const keys = new Set<string>()
  const step = (name: string) =>
    Once.run(
      name,
      Schema.String,
      Effect.gen(function* () {
        bodies.push(name)
        keys.add(yield* Once.key)
        yield* Effect.sleep("2 seconds")
        return name
      })
    )
  const handler = () =>
    Effect.gen(function* () {
      const one = yield* step("one")
      yield* Progress.report(1, { message: "one" })
      const [two, three] = yield* Effect.all([step("two"), step("three")], { concurrency: 2 })
      const { ok } = yield* Effect.orDie(
        Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
      )
      yield* Once.sleep("rest", "2 minutes")
      return [one, two, three, String(ok), yield* step("four")].join(" ")
    })
  return { handler, effects: { bodies, keys } }
}

const stores = [
  {
    name: "in memory",
    open: Effect.map(Layer.build(Layer.fresh(Memory.layer())), (context) => ({
      store: Context.get(context, TaskStore),
      journal: Context.get(context, Journal)
    }))
  },
  { name: "on SQLite", open: Effect.flatMap(file, (file) => open({ file })) }
]

for (const { name, open } of stores) {
  describe(`a task ${name} whose node dies`, () => {
    it.effect(
      "before or after any of its writes has the same result, runs a body twice at most, and has each keyed effect once",
      () =>
        Effect.gen(function* () {
          const { died, whole } = yield* forAll(open, make)
          assert.strictEqual(whole.text, "one two three true four")
          assert.isAtLeast(whole.writes, 8)
          for (const { effects, point, text } of died) {
            const at = JSON.stringify(point)
            assert.strictEqual(text, whole.text, at)
            const { bodies, keys } = effects
            assert.strictEqual(keys.size, 4, at)
            for (const name of new Set(bodies)) assert.isAtMost(bodies.filter((body) => body === name).length, 2, at)
          }
        })
    )
  })
}
