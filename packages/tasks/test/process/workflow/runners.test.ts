/** Two Effect cluster runners in separate processes on one Postgres. One is killed while it runs tasks. */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { missing, schema } from "../../support/postgres.ts"
import { call, ended, start } from "../../support/process.ts"

const values = ["0", "1", "2", "3", "4", "5"]

describe("Tasks on two cluster runners", needs(missing === undefined, missing ?? ""), () => {
  it.live(
    "When a runner is killed, its tasks finish correctly on the other",
    () =>
      Effect.gen(function* () {
        const place = yield* schema
        // The first one creates the tables.
        const a = yield* start("runners-postgres", place)
        const ids = [yield* call(a, { count: values.length, millis: 300 })]
        yield* a.line("begin 0")
        const b = yield* start("runners-postgres", place)
        yield* b.request("tools/list", {})
        const begins = (lines: ReadonlyArray<string>) => lines.filter((line) => line.startsWith("begin "))
        // The cluster moves half of the shards to the second runner, including the tasks created from then on.
        yield* Effect.repeat(
          Effect.map(call(a, { count: values.length, millis: 300 }), (id) => void ids.push(id)),
          { until: () => begins(b.lines).length > 0, schedule: Schedule.spaced("1 second") }
        )
        yield* b.line("recorded 1")
        yield* b.signal("SIGKILL")
        yield* b.exited
        for (const id of ids) {
          assert.deepStrictEqual((yield* ended(a, id))["result"]?.structuredContent, { values })
        }
        const lines = [...a.lines, ...b.lines].map((line) => line.split(" "))
        const begun = lines.flatMap(([what, index, key]) => (what === "begin" ? [`${index} ${key}`] : []))
        assert.strictEqual(new Set(begun).size, ids.length * values.length)
        // At most twice more: when its shard moved to the new runner, and at the kill.
        for (const step of new Set(begun)) assert.isAtMost(begun.filter((key) => key === step).length, 3)
        const recorded = lines.flatMap(([what, index, _pid, key]) =>
          what === "recorded" && key !== "" ? [`${index} ${key}`] : []
        )
        assert.strictEqual(new Set(recorded).size, recorded.length)
      }),
    240_000
  )
})
