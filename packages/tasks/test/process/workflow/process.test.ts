/**
 * Real processes with an Effect cluster runner on a database, killed while a task runs. The next process continues it.
 */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { missing, schema } from "../../support/postgres.ts"
import { answeredElsewhere, call, ended, type Process, start } from "../../support/process.ts"
import { file } from "../../support/sqlite.ts"

interface Kind {
  readonly kind: string
  readonly missing: string | undefined
  readonly place: Effect.Effect<string, never, Scope.Scope>
}

const kinds: ReadonlyArray<Kind> = [
  { kind: "cluster-sqlite", missing: undefined, place: file },
  { kind: "cluster-postgres", missing, place: schema }
]

const values = ["0", "1", "2", "3", "4", "5"]

/** How often each step started. */
const begun = (...servers: ReadonlyArray<Process>) =>
  values.map(
    (index) => servers.flatMap(({ lines }) => lines.filter((line) => line.startsWith(`begin ${index} `))).length
  )

for (const { kind, missing, place } of kinds) {
  describe(`Tasks on the workflow engine (${kind})`, needs(missing === undefined, missing ?? ""), () => {
    it.live("A task killed during a step finishes in the next process", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const taskId = yield* call(a, { count: values.length, millis: 200 })
        yield* a.line("begin 2")
        yield* a.signal("SIGKILL")
        yield* a.exited
        const b = yield* start(kind, where)
        yield* b.line("done")
        const task = yield* ended(b, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        const [zero, one, two, ...rest] = begun(a, b)
        assert.deepStrictEqual([zero, one, ...rest], [1, 1, 1, 1, 1])
        assert.isAtMost(two ?? 0, 2)
        assert.isAtLeast(two ?? 0, 1)
      })
    )

    it.live("A waiting task is answered in another process after its own was killed", () =>
      Effect.gen(function* () {
        const where = yield* place
        const { a, b, task } = yield* answeredElsewhere(kind, where)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values: ["0", "true", "1"] })
        assert.deepStrictEqual(begun(a, b).slice(0, 2), [1, 1])
      })
    )

    it.live("A task whose process dies before the engine starts it runs in the next process", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where, 1000, "dies")
        yield* Effect.forkChild(call(a, { count: values.length, millis: 1 }))
        yield* a.exited
        assert.deepStrictEqual(begun(a), [0, 0, 0, 0, 0, 0])
        const b = yield* start(kind, where, 1000)
        yield* b.line("done")
        assert.deepStrictEqual(begun(b), [1, 1, 1, 1, 1, 1])
      })
    )

    it.live("A stopping process records its task's running step, and the next one continues", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const taskId = yield* call(a, { count: values.length, millis: 200 })
        yield* a.line("begin 2")
        yield* a.signal("SIGTERM")
        yield* a.exited
        const b = yield* start(kind, where)
        yield* b.line("done")
        const task = yield* ended(b, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        assert.deepStrictEqual(begun(a, b), [1, 1, 1, 1, 1, 1])
        assert.strictEqual(a.lines.filter((line) => line.startsWith("start")).length, 1)
      })
    )
  })
}
