/**
 * A node dies at every point of a task: the result is the same, a body runs at most twice, and an effect with a key once.
 */
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Elicitation, Once, Progress } from "@effect-mcp/core"
import { CrashPoints } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { file } from "../support/sqlite.ts"

/** A service that does something once per key. */
class Keyed extends Context.Service<Keyed, Set<string>>()("Keyed") {}

const step = (name: string) =>
  Once.run(
    name,
    Schema.String,
    Effect.gen(function* () {
      const keyed = yield* Keyed
      keyed.add(yield* Once.key)
      yield* Effect.sleep("2 seconds")
      return name
    })
  )

/** A handler with every kind of record. */
const handler = Effect.gen(function* () {
  const one = yield* step("one")
  yield* Progress.report(1, { message: "one" })
  const [two, three] = yield* Effect.all([step("two"), step("three")], { concurrency: 2 })
  yield* Elicitation.confirm("Sure?")
  yield* Once.sleep("rest", "2 minutes")
  return [one, two, three, yield* step("four")].join(" ")
})

const world = Layer.merge(
  Elicitation.layerAccept(),
  Layer.sync(Keyed, () => new Set())
)
const sqlite = Layer.unwrap(Effect.map(file, (file) => Sqlite.layer({ file })))

const check = <W>(services: Layer.Layer<W | Keyed>) =>
  Effect.gen(function* () {
    const after = () => Effect.map(Keyed, (keys) => assert.strictEqual(keys.size, 4))
    const runs = yield* CrashPoints.forAll(handler, services, { after })
    assert.isAtLeast(runs.length, 17)
    assert.deepStrictEqual(runs[0]?.exit, Exit.succeed("one two three four"))
  })

describe("Node crashes", () => {
  const title =
    "A task whose node crashes around any write has the same result, runs a body at most twice and each keyed effect once"
  it.effect(`${title} (in memory)`, () => check(world))
  it.effect(`${title} (on SQLite)`, () => check(Layer.merge(world, sqlite)))

  it.effect("A transaction's writes are applied once, whenever the task's node crashes", () =>
    Effect.gen(function* () {
      const pay = (name: string) =>
        Effect.flatMap(SqlClient, (sql) =>
          Once.transaction(sql)(name, Schema.String, Effect.as(sql`INSERT INTO payment (name) VALUES (${name})`, name))
        )
      const ledger = Layer.provideMerge(
        Layer.effectDiscard(
          Effect.orDie(Effect.flatMap(SqlClient, (sql) => sql`CREATE TABLE payment (name text PRIMARY KEY)`))
        ),
        sqlite
      )
      const paid = Effect.flatMap(SqlClient, (sql) => sql`SELECT name FROM payment ORDER BY name`)
      const runs = yield* CrashPoints.forAll(Effect.all([pay("a"), pay("b")]), ledger, {
        after: () =>
          Effect.map(paid, (rows) =>
            assert.deepStrictEqual(
              rows.map(({ name }) => name),
              ["a", "b"]
            )
          )
      })
      assert.strictEqual(runs.length, 7)
      assert.deepStrictEqual(runs[1]?.steps, ["a", "a", "b"])
    })
  )
})
