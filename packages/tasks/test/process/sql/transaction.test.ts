/** A step and its record in one transaction: either both are in the database, or neither. */
import { Once, Tool } from "@effect-mcp/core"
import { needs } from "@effect-mcp/spec/skip"
import type { Lease } from "@effect-mcp/tasks/Journal"
import { Tasks } from "@effect-mcp/tasks"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, type Scope } from "effect"
import { connect, serve, undeclared } from "../../support/client.ts"
import { tool } from "../../support/tools.ts"
import { databases, type Database, type Opened } from "../../support/stores.ts"

const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const entry = { _tag: "Step" as const, key: "s", value: 1 }

interface World extends Opened {
  readonly lease: Lease
  /** Runs a step that writes a row. */
  readonly run: <E = never>(lease: Lease, after?: Effect.Effect<unknown, E>) => Effect.Effect<unknown, unknown>
  readonly rows: Effect.Effect<number>
  /** Another process on the same database. */
  readonly other: Effect.Effect<Opened, never, Scope.Scope>
}

/** A running task, and a table of the user. */
const world = (place: Database["place"]): Effect.Effect<World, never, Scope.Scope> =>
  Effect.gen(function* () {
    const open = yield* place
    const opened = yield* open({ entryBytes: 200 })
    const { journal, sql, store } = opened
    yield* Effect.orDie(sql`CREATE TABLE ledger (n integer)`)
    const { lease } = yield* Effect.orDie(store.create(task, "a"))
    const record = journal.transaction(sql)
    if (record === undefined) return assert.fail("the journal is in the database of its client")
    return {
      ...opened,
      lease,
      run: (lease, after = Effect.succeed(1)) =>
        record(lease, "s", Effect.andThen(sql`INSERT INTO ledger (n) VALUES (1)`, after)),
      rows: Effect.orDie(Effect.map(sql`SELECT n FROM ledger`, ({ length }) => length)),
      other: open()
    }
  })

for (const { missing, name, place } of databases) {
  describe(`Transaction steps on ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.effect("A transaction step is recorded with its writes and does not run again", () =>
      Effect.gen(function* () {
        const { lease, rows, run } = yield* world(place)
        assert.deepStrictEqual(yield* run(lease), entry)
        assert.deepStrictEqual(yield* run(lease, Effect.die("runs again")), entry)
        assert.strictEqual(yield* rows, 1)
      }).pipe(Effect.scoped)
    )

    it.effect("A failed transaction step is not recorded, and its writes are rolled back", () =>
      Effect.gen(function* () {
        const { lease, rows, run } = yield* world(place)
        assert.strictEqual(yield* Effect.flip(run(lease, Effect.fail("full"))), "full")
        assert.strictEqual(yield* rows, 0)
        assert.deepStrictEqual(yield* run(lease), entry)
        assert.strictEqual(yield* rows, 1)
      }).pipe(Effect.scoped)
    )

    it.effect("A transaction step whose value does not fit the journal is rolled back", () =>
      Effect.gen(function* () {
        const { lease, rows, run } = yield* world(place)
        const error = yield* Effect.flip(run(lease, Effect.succeed("x".repeat(300))))
        assert.include(error, { _tag: "JournalFull" })
        assert.strictEqual(yield* rows, 0)
      }).pipe(Effect.scoped)
    )

    it.effect("A transaction step whose lease was taken by another node is rolled back", () =>
      Effect.gen(function* () {
        const { journal, lease, other, rows, run } = yield* world(place)
        yield* journal.park(lease)
        const [claimed] = yield* (yield* other).journal.claim("b", ["tool"], 1)
        assert.strictEqual(claimed?.lease.epoch, 2)
        assert.include(yield* Effect.flip(run(lease)), { _tag: "Lost", reason: "taken" })
        assert.strictEqual(yield* rows, 0)
      }).pipe(Effect.scoped)
    )

    it.effect("A transaction step on another client than its journal's is rejected", () =>
      Effect.gen(function* () {
        const { journal, other, sql } = yield* world(place)
        assert.isUndefined(journal.transaction((yield* other).sql))
        assert.isDefined(journal.transaction(sql.withoutTransforms()))
      }).pipe(Effect.scoped)
    )

    it.effect("A transaction step also runs in an ordinary call", () =>
      Effect.gen(function* () {
        const { rows, sql } = yield* world(place)
        const step = Effect.as(sql`INSERT INTO ledger (n) VALUES (1)`, "written")
        const once = Effect.catchTag(Once.transaction(sql)("s", Schema.String, step), "NoTransaction", ({ message }) =>
          Effect.succeed(message)
        )
        const optional = tool("optional", "optional", () => Effect.orDie(once))
        const features = Layer.merge(optional, Tasks.layer())
        const session = yield* McpTest.connect(features, "2025-11-25")
        assert.deepStrictEqual(
          (yield* session.callTool(Tool.make("optional", { description: "Writes a row" }), {})).content,
          [{ type: "text", text: "written" }]
        )
        assert.strictEqual(yield* rows, 1)
        const client = yield* connect(yield* serve(features))
        const replayed = yield* client.call("optional", {}, undeclared)
        assert.include(replayed["content"][0].text, 'task: "required"')
        const { taskId } = yield* client.call("optional")
        yield* quiesce
        assert.include((yield* client.get(taskId))["result"].content[0].text, "stores its tasks elsewhere")
        assert.strictEqual(yield* rows, 1)
      }).pipe(Effect.scoped)
    )
  })
}
