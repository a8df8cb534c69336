/** Tasks on Postgres between nodes. */
import * as TaskLaws from "../../support/TaskLaws.ts"
import { PgClient } from "@effect/sql-pg"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { dialectOf } from "../../../src/postgres/layer.ts"
import * as Statements from "../../../src/sql/Statements.ts"
import { clientOf, missing, open, schema } from "../../support/postgres.ts"

const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const question = { _tag: "Question" as const, key: "q", question: { method: "roots/list", params: {} } }
const result = (n: number) => ({ _tag: "Result" as const, result: { n } })
const stepOf = (key: string) => ({ _tag: "Step" as const, key, value: 1 })

const client = (name: string) =>
  Effect.map(Layer.build(Layer.fresh(clientOf(name))), (context) => Context.get(context, PgClient.PgClient))

describe("Tasks on Postgres", needs(missing === undefined, missing ?? ""), () => {
  it.effect("An answer on one node wakes the waiting node before its next poll", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [a, b] = [yield* open(name), yield* open(name)]
      const { lease, task: made } = yield* a.store.create(task, a.journal.node)
      yield* a.journal.record(lease, question)
      const waiting = yield* Effect.forkChild(a.journal.answer(lease, "q"), { startImmediately: true })
      // The test clock stands still, so only the channel can notify.
      yield* b.store.answer(made.id, "ada", { q: result(1) })
      assert.deepStrictEqual(yield* Fiber.join(waiting), result(1))
    })
  )

  it.live("A task is not claimed between a record and its commit", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [a, b, sql] = [yield* open(name), yield* open(name), yield* client(name)]
      const { lease, task: made } = yield* a.store.create(task, "a")
      yield* a.journal.record(lease, stepOf("one"))
      yield* sql.unsafe(`UPDATE mcp_task SET due = 0 WHERE id = '${made.id}'`)
      const { record } = Statements.make(dialectOf(sql, "a"))
      const write = Effect.gen(function* () {
        const written = yield* sql.unsafe(record, [made.id, "two", "Step", "1", null, 1, made.id, 1])
        assert.strictEqual(written.length, 1)
        assert.deepStrictEqual(yield* b.journal.claim("b", ["tool"], 1), [])
      })
      yield* sql.withTransaction(write)
      const [after] = yield* b.journal.claim("b", ["tool"], 1)
      assert.deepStrictEqual(after?.entries, [stepOf("one"), stepOf("two")])
      assert.strictEqual((yield* Effect.flip(a.journal.record(lease, stepOf("three"))))._tag, "Lost")
    }).pipe(Effect.scoped)
  )

  it.live("A task is written even if its node's connections were cut", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [a, sql] = [yield* open(name), yield* client(name)]
      const { lease } = yield* a.store.create(task, a.journal.node)
      yield* sql.unsafe(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = '${name}'`
      )
      assert.deepStrictEqual(yield* a.journal.record(lease, stepOf("one")), stepOf("one"))
      assert.deepStrictEqual(yield* a.journal.renew(a.journal.node, [lease]), [])
    }).pipe(Effect.scoped)
  )

  it.live("A transaction step reruns if its connection is cut", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const { journal, sql, store } = yield* open(name, { lease: 300 })
      const { lease } = yield* store.create(task, journal.node)
      const record = journal.transaction(sql)
      assert.isDefined(record)
      yield* sql`CREATE TABLE ledger (n integer)`
      let attempts = 0
      const cut = Effect.gen(function* () {
        yield* sql`INSERT INTO ledger (n) VALUES (1)`
        if (++attempts === 1) yield* sql`SELECT pg_terminate_backend(pg_backend_pid())`
        return 1
      })
      assert.deepStrictEqual(yield* record(lease, "one", cut), stepOf("one"))
      assert.strictEqual(attempts, 2)
      assert.deepStrictEqual(yield* sql`SELECT n FROM ledger`, [{ n: 1 }])
      const idle = Effect.andThen(sql`INSERT INTO ledger (n) VALUES (2)`, Effect.sleep("1 second"))
      assert.include(yield* Effect.flip(record(lease, "two", idle)), { _tag: "SqlError" })
      assert.deepStrictEqual(yield* sql`SELECT n FROM ledger`, [{ n: 1 }])
    }).pipe(Effect.scoped)
  )

  it.effect("A task stays on its node if a node's clock jumps by an hour", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [a, b] = [yield* open(name), yield* open(name)]
      const { lease } = yield* a.store.create({ ...task, ttl: 600_000 }, a.journal.node)
      yield* TestClock.setTime(3_600_000)
      assert.deepStrictEqual(yield* b.journal.claim("b", ["tool"], 1), [])
      assert.deepStrictEqual(yield* a.journal.record(lease, stepOf("one")), stepOf("one"))
    })
  )

  it.live("Tasks sharing an owner on Postgres count against their callers", () =>
    Effect.gen(function* () {
      const { journal, store } = yield* open(yield* schema, { perOwner: 1 })
      yield* TaskLaws.callers(store, journal.node)
    })
  )

  it.live("Nodes claiming concurrently claim each task once", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [a, b] = [yield* open(name, { perOwner: 1000 }), yield* open(name)]
      yield* Effect.replicateEffect(
        Effect.flatMap(a.store.create(task, "a"), ({ lease }) => a.journal.park(lease)),
        100
      )
      const claims = Array.from({ length: 24 }, (_, index) =>
        (index % 2 === 0 ? a : b).journal.claim(`node ${index}`, ["tool"], 10)
      )
      const claimed = (yield* Effect.all(claims, { concurrency: 8 })).flat().map(({ lease }) => lease.task)
      assert.strictEqual(new Set(claimed).size, claimed.length)
      assert.strictEqual(claimed.length, 100)
    }).pipe(Effect.scoped)
  )

  it.live("Any number of nodes can create the task tables concurrently", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const stores = yield* Effect.all(
        Array.from({ length: 4 }, () => open(name)),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(stores, ({ store }) => store.create(task, "a"))
      assert.strictEqual((yield* stores[0]!.store.list("ada", undefined, 10)).tasks.length, 4)
    }).pipe(Effect.scoped)
  )
})
