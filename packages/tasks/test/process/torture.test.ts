/** Processes that are killed at random while they run tasks, until all tasks are done. */
import { isNightly } from "@effect-mcp/spec/Scale"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { missing, schema } from "../support/postgres.ts"
import { call, ended, start } from "../support/process.ts"
import { file } from "../support/sqlite.ts"

const tasks = 8
const count = 60
const kills = 30

const kinds = [
  { kind: "sqlite", reason: undefined, place: file },
  { kind: "postgres", reason: missing, place: schema }
]

for (const { kind, place, reason } of kinds) {
  const skipped = reason ?? (isNightly ? undefined : "only in the nightly run")
  describe(`Tasks on ${kind}`, needs(skipped === undefined, skipped ?? ""), () => {
    it.live(
      "Tasks finish correctly after dozens of kills",
      () =>
        Effect.gen(function* () {
          const where = yield* place
          const lines: Array<string> = []
          const ids: Array<string> = []
          for (let kill = 0; kill < kills; kill++) {
            const scope = yield* Scope.make()
            const server = yield* Scope.provide(start(kind, where, 2000), scope)
            if (kill === 0) {
              for (let task = 0; task < tasks; task++) ids.push(yield* call(server, { count, millis: 20 }))
            }
            // A last kill may find no running task.
            yield* Effect.raceFirst(server.line("start"), Effect.sleep("5 seconds"))
            yield* Effect.sleep(Math.random() * 150)
            yield* server.signal("SIGKILL")
            yield* server.exited
            lines.push(...server.lines)
            yield* Scope.close(scope, Exit.void)
          }
          const last = yield* start(kind, where, 2000)
          const done = yield* Effect.forEach(ids, (id) => ended(last, id))
          const values = Array.from({ length: count }, (_, index) => String(index))
          assert.deepStrictEqual(
            done.map((task) => task["result"]?.structuredContent),
            ids.map(() => ({ values }))
          )
          const begun = [...lines, ...last.lines].filter((line) => line.startsWith("begin"))
          assert.strictEqual(new Set(begun).size, tasks * count)
          assert.isAtMost(begun.length, tasks * (count + kills))
        }),
      600_000
    )
  })
}
