import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Audit } from "@effect-mcp/operate"
import * as AuditSql from "@effect-mcp/operate/AuditSql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { needs } from "@effect-mcp/spec/skip"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { databaseOf, networks, schema } from "../../../../nodes/test/support/networks.ts"

/** A new SQLite database in a file that is removed afterwards. */
const sqlite = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "effect-mcp-audit-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  )
  return yield* Layer.build(Sqlite.layer({ file: join(folder, "audit.db") }))
})

/** A new schema in Postgres that is dropped afterwards. */
const postgres = Effect.flatMap(schema, (name) => Layer.build(databaseOf(name)))

const databases = [
  { name: "SQLite", database: sqlite, missing: undefined },
  { name: "Postgres", database: postgres, missing: networks.find(({ name }) => name === "postgres")?.missing }
]

/** Runs a process that records events and exits. */
const note = (...targets: ReadonlyArray<string>) =>
  Effect.flatMap(Audit.Audit, ({ record }) =>
    Effect.forEach(targets, (target) => record({ event: "app.login", target }), { discard: true })
  ).pipe(Effect.provide(Layer.provide(Audit.layer(), AuditSql.layer()), { local: true }))

const targets = Stream.runCollect(AuditSql.lines()).pipe(
  Effect.map((lines) => lines.flatMap((line): ReadonlyArray<unknown> => JSON.parse(line).target ?? []))
)

describe.each(databases)("Audit trail in a $name table", ({ database, missing }) => {
  const here = needs(missing === undefined, missing ?? "")

  it.live(
    "An audit table is continued by the next process, and its chain holds",
    () =>
      Effect.gen(function* () {
        const context = yield* database
        yield* Effect.gen(function* () {
          yield* note("ada", "bob")
          yield* note(...Array.from({ length: 1500 }, (_, i) => `user-${i}`))
          const found = yield* targets
          assert.deepStrictEqual(found.slice(0, 3), ["ada", "bob", "user-0"])
          assert.lengthOf(found, 1502)
          const report = yield* Audit.verify(AuditSql.lines())
          assert.deepInclude(report, { problems: [], closed: true, records: 1506 })
        }).pipe(Effect.provide(context))
      }).pipe(Effect.scoped),
    here
  )

  it.live(
    "An audit table reveals modified and removed rows",
    () =>
      Effect.gen(function* () {
        const context = yield* database
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* note("ada", "bob", "eve")
          yield* sql`UPDATE mcp_audit SET line = replace(line, 'bob', 'mal') WHERE seq = 3`
          assert.lengthOf((yield* Audit.verify(AuditSql.lines())).problems, 1)
          yield* sql`DELETE FROM mcp_audit WHERE seq = 3`
          assert.isNotEmpty((yield* Audit.verify(AuditSql.lines())).problems)
        }).pipe(Effect.provide(context))
      }).pipe(Effect.scoped),
    here
  )

  it.live(
    "An audit table has retried lines once and rejects a second process's lines",
    () =>
      Effect.gen(function* () {
        const context = yield* database
        yield* Effect.gen(function* () {
          yield* note("ada")
          const lines = yield* Stream.runCollect(AuditSql.lines())
          const { append } = yield* Audit.Sink
          yield* append(lines)
          assert.deepStrictEqual(yield* Stream.runCollect(AuditSql.lines()), lines)
          const other: Array<string> = []
          yield* Effect.flatMap(Audit.Audit, ({ record }) => record({ event: "app.login", target: "eve" })).pipe(
            Effect.provide(Layer.provide(Audit.layer(), Audit.layerArray(other)), { local: true })
          )
          assert.include((yield* Effect.flip(append(other))).message, "Another process")
          assert.deepStrictEqual(yield* Stream.runCollect(AuditSql.lines()), lines)
        }).pipe(Effect.provide(AuditSql.layer()), Effect.provide(context))
      }).pipe(Effect.scoped),
    here
  )

  it.live(
    "An audit table works without update and delete privileges",
    () =>
      Effect.gen(function* () {
        const context = yield* database
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* note("ada")
          const refuse = sql.onDialectOrElse({
            pg: () => sql.unsafe("CREATE RULE append_only AS ON UPDATE TO mcp_audit DO INSTEAD NOTHING"),
            orElse: () =>
              sql.unsafe(
                "CREATE TRIGGER append_only BEFORE UPDATE ON mcp_audit BEGIN SELECT RAISE(ABORT, 'append only'); END"
              )
          })
          yield* refuse
          yield* note("bob")
          assert.deepStrictEqual(yield* targets, ["ada", "bob"])
          assert.deepInclude(yield* Audit.verify(AuditSql.lines()), { problems: [], closed: true })
        }).pipe(Effect.provide(context))
      }).pipe(Effect.scoped),
    here
  )

  it.live(
    "A table with anything but audit rows is left unchanged",
    () =>
      Effect.gen(function* () {
        const context = yield* database
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql`CREATE TABLE mcp_audit (seq BIGINT PRIMARY KEY, line TEXT)`
          yield* sql`INSERT INTO mcp_audit ${sql.insert({ seq: 1, line: "a letter" })}`
          assert.include((yield* Effect.flip(note("ada"))).message, "Use a different table")
          assert.deepStrictEqual(yield* Stream.runCollect(AuditSql.lines()), ["a letter"])
        }).pipe(Effect.provide(context))
      }).pipe(Effect.scoped),
    here
  )
})
