/** Real processes that are killed, frozen and stopped while a task runs. Another process continues it. */
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { clientOf, missing, schema } from "../support/postgres.ts"
import { followed } from "../support/host.ts"
import { answeredElsewhere, call, ended, type Process, start } from "../support/process.ts"
import { file } from "../support/sqlite.ts"

interface Kind {
  readonly kind: string
  readonly missing: string | undefined
  readonly place: Effect.Effect<string, never, Scope.Scope>
  /** A client for the tables. */
  readonly client: (place: string) => Layer.Layer<SqlClient>
}

const kinds: ReadonlyArray<Kind> = [
  { kind: "sqlite", missing: undefined, place: file, client: (file) => Sqlite.layer({ file }) },
  { kind: "postgres", missing, place: schema, client: clientOf }
]

const values = ["0", "1", "2", "3", "4", "5"]
/** A task of six steps whose third step runs. */
const inThird = Effect.fnUntraced(function* (server: Process) {
  const taskId = yield* call(server, { count: values.length, millis: 100 })
  yield* server.line("begin 2")
  return taskId
})

const bodies = (...servers: ReadonlyArray<Process>) =>
  servers.flatMap(({ lines }) => lines.filter((line) => line.startsWith("begin")))

/** The keys seen by a service that does something once per key. */
const keys = (lines: ReadonlyArray<string>) => new Set(lines.map((line) => line.split(" ").slice(2).join(" ")))

for (const { client, kind, missing, place } of kinds) {
  describe(`Tasks on ${kind} after a signal to their process`, needs(missing === undefined, missing ?? ""), () => {
    it.live("A task whose process is killed finishes in a later process, with each keyed effect run once", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const taskId = yield* inThird(a)
        yield* a.signal("SIGKILL")
        yield* a.exited
        const b = yield* start(kind, where)
        yield* b.line("done")
        const task = yield* ended(b, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        const begun = bodies(a, b)
        assert.isAtMost(begun.length, values.length + 1)
        assert.strictEqual(keys(begun).size, values.length)
      })
    )

    it.live("A model without tasks finishes its call after its server was killed", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const handle = yield* a.callTool("steps", { count: values.length, millis: 100 })
        const { next, status } = handle["structuredContent"]
        assert.deepStrictEqual([status, next.tool], ["working", "tasks_status"])
        yield* a.signal("SIGKILL")
        yield* a.exited
        const b = yield* start(kind, where)
        const [last] = (yield* followed(b.callTool, next.tool, { args: next.arguments })).slice(-1)
        assert.deepStrictEqual(last?.["structuredContent"], { values })
        assert.isAtMost(bodies(a, b).length, values.length + 1)
      })
    )

    it.live("A large result of a killed process can be read in a later process", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const [, { uri }] = (yield* a.callTool("letters", {}))["content"]
        yield* a.signal("SIGKILL")
        yield* a.exited
        const b = yield* start(kind, where)
        const [range] = (yield* b.request("resources/read", { uri: `${uri}?from=1990` }))["contents"]
        assert.deepInclude(range, { uri: `${uri}?from=1990&to=2000`, text: "abcdefghij" })
      })
    )

    it.live("A kill between a `Once.transaction` write and its record leaves each write applied once", () =>
      Effect.gen(function* () {
        const where = yield* place
        const a = yield* start(kind, where)
        const taskId = yield* call(a, { count: values.length, millis: 50, write: true })
        yield* a.line("wrote 1")
        yield* a.signal("SIGKILL")
        yield* a.exited
        const b = yield* start(kind, where)
        yield* b.line("recorded 3")
        yield* b.signal("SIGKILL")
        yield* b.exited
        const c = yield* start(kind, where)
        const task = yield* ended(c, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        const wrote = [a, b, c].flatMap(({ lines }) => lines.filter((line) => line.startsWith("wrote 1")))
        assert.strictEqual(wrote.length, 2)
        const ledger = yield* Effect.flatMap(SqlClient, (sql) => sql<{ step: number }>`SELECT step FROM ledger`).pipe(
          Effect.provide(client(where))
        )
        assert.deepStrictEqual(
          ledger.map(({ step }) => String(step)),
          values
        )
      })
    )

    it.live("A running process takes over a killed process's task before its lease ends", () =>
      Effect.gen(function* () {
        const where = yield* place
        // Longer than a test may take.
        const lease = 600_000
        const [a, b] = [yield* start(kind, where, lease), yield* start(kind, where, lease)]
        yield* b.request("server/discover", {})
        const taskId = yield* inThird(a)
        yield* a.signal("SIGKILL")
        yield* b.line("start")
        const task = yield* ended(b, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        assert.isAtMost(bodies(a, b).length, values.length + 1)
      })
    )

    it.live("A task frozen past its lease continues elsewhere", () =>
      Effect.gen(function* () {
        const where = yield* place
        const [a, b] = [yield* start(kind, where, 1000), yield* start(kind, where, 1000)]
        yield* b.request("server/discover", {})
        const taskId = yield* inThird(a)
        // In a transaction of the test, because a process frozen in its own transaction keeps the lock of an SQLite file.
        const frozen = Effect.flatMap(SqlClient, (sql) => sql.withTransaction(a.signal("SIGSTOP")))
        yield* Effect.provide(frozen, client(where))
        yield* b.line("done")
        const task = yield* ended(b, taskId)
        yield* a.signal("SIGCONT")
        yield* a.line("interrupted")
        assert.isFalse(a.lines.some((line) => line.startsWith("recorded 2") || line.startsWith("done")))
        assert.deepStrictEqual(yield* ended(a, taskId), task)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        assert.strictEqual(keys(bodies(a, b)).size, values.length)
      })
    )

    it.live("A stopping process records its task's running step and hands it over", () =>
      Effect.gen(function* () {
        const where = yield* place
        const [a, b] = [yield* start(kind, where, 60_000), yield* start(kind, where, 60_000)]
        yield* b.request("server/discover", {})
        const taskId = yield* inThird(a)
        yield* a.signal("SIGTERM")
        yield* b.line("done")
        const task = yield* ended(b, taskId)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values })
        assert.strictEqual(bodies(a, b).length, values.length)
      })
    )

    it.live("A waiting task is answered in another process after its own was killed", () =>
      Effect.gen(function* () {
        const where = yield* place
        const { a, b, task } = yield* answeredElsewhere(kind, where)
        assert.deepStrictEqual(task["result"]?.structuredContent, { values: ["0", "true", "1"] })
        assert.strictEqual(bodies(a, b).length, 2)
      })
    )
  })
}
