/** Tasks on SQLite over time, between processes, and at their bounds. */
import * as TaskLaws from "../../support/TaskLaws.ts"
import { Tasks } from "@effect-mcp/tasks"
import { Expired } from "@effect-mcp/tasks/Task"
import { quiesce } from "@effect-mcp/testing"
import { machine } from "@effect-mcp/server/internal/processes"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Logger, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, statSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { DatabaseSync } from "node:sqlite"
import * as Client from "../../../src/sqlite/Client.ts"
import { connect, serve } from "../../support/client.ts"
import { tool } from "../../support/tools.ts"
import { file, open } from "../../support/sqlite.ts"

const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const question = { _tag: "Question" as const, key: "q", question: { method: "roots/list", params: {} } }
const result = (n: number) => ({ _tag: "Result" as const, result: { n } })
const stepOf = (value: unknown) => ({ _tag: "Step" as const, key: "s", value })

/** A logger that records its messages. */
const logs = () => {
  const entries: Array<unknown> = []
  return { entries, logger: Logger.make(({ message }) => void entries.push(message)) }
}

describe("Tasks on SQLite", () => {
  it.effect("A task and all its records are available to another process", () =>
    Effect.gen(function* () {
      const path = yield* file
      const made = yield* Effect.scoped(
        Effect.gen(function* () {
          const { journal, store } = yield* open({ file: path })
          const { lease, task: made } = yield* store.create({ ...task, input: { city: "Köln" } }, "a")
          yield* journal.record(lease, stepOf({ n: 1 }))
          yield* journal.record(lease, { _tag: "Sleep", key: "z", until: 5 })
          yield* journal.record(lease, question)
          yield* store.answer(made.id, "ada", { q: result(1) })
          yield* journal.message(lease, "busy")
          yield* journal.park(lease)
          return made
        })
      )
      const { journal, store } = yield* open({ file: path })
      const [claimed] = yield* journal.claim("b", ["tool"], 1)
      assert.deepStrictEqual(claimed?.lease, { task: made.id, epoch: 2 })
      assert.deepStrictEqual(claimed?.input, { ...task, input: { city: "Köln" } })
      const entries = claimed?.entries.toSorted((a, b) => a.key.localeCompare(b.key))
      const sleep = { _tag: "Sleep" as const, key: "z", until: 5 }
      assert.deepStrictEqual(entries, [{ ...question, answer: result(1) }, stepOf({ n: 1 }), sleep])
      assert.strictEqual(claimed?.attempts, 1)
      assert.strictEqual(Option.getOrThrow(yield* store.get(made.id, "ada")).message, "busy")
    })
  )

  it.effect("A new file is opened once the process creating it releases it", () =>
    Effect.gen(function* () {
      const path = yield* file
      const other = new DatabaseSync(path)
      other.exec("BEGIN EXCLUSIVE")
      const made = Client.make({ file: path, survives: "kill", clock: yield* Clock.Clock })
      const opening = yield* Effect.forkChild(made, { startImmediately: true })
      other.exec("COMMIT")
      assert.isUndefined(opening.pollUnsafe())
      yield* TestClock.adjust("50 millis")
      const { sql } = yield* Fiber.join(opening)
      other.close()
      assert.deepStrictEqual(yield* sql`PRAGMA journal_mode`, [{ journal_mode: "wal" }])
    })
  )

  it.effect("Opening a world-writable file revokes other users' access and logs it", () =>
    Effect.gen(function* () {
      const path = yield* file
      const paths = [path, `${path}-wal`, `${path}-shm`]
      for (const path of paths) writeFileSync(path, "")
      for (const path of paths) chmodSync(path, 0o666)
      const { entries, logger } = logs()
      yield* Effect.provide(
        Client.make({ file: path, survives: "kill", clock: yield* Clock.Clock }),
        Logger.layer([logger])
      )
      for (const path of paths) assert.strictEqual(statSync(path).mode & 0o777, 0o660, path)
      assert.strictEqual(entries.length, 3)
      assert.include(String(entries[0]), "mode 666")
    })
  )

  it.effect("A waiter sees another process's changes at its next poll", () =>
    Effect.gen(function* () {
      const path = yield* file
      const [a, b] = [yield* open({ file: path }), yield* open({ file: path })]
      const { lease, task: made } = yield* a.store.create(task, "a")
      yield* a.journal.record(lease, question)
      const states = yield* Effect.forkChild(
        Stream.runCollect(
          Stream.map(b.store.changes(made.id, "ada"), ({ outcome, questions }) => outcome?._tag ?? questions.size)
        ),
        { startImmediately: true }
      )
      const waiting = yield* Effect.forkChild(a.journal.answer(lease, "q"), { startImmediately: true })
      const lost = yield* Effect.forkChild(a.journal.lost(lease), { startImmediately: true })
      yield* quiesce
      yield* b.store.answer(made.id, "ada", { q: result(1) })
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(yield* Fiber.join(waiting), result(1))
      yield* b.store.cancel(made.id, "ada")
      yield* TestClock.adjust(100)
      assert.strictEqual((yield* Fiber.join(lost)).reason, "cancelled")
      assert.deepStrictEqual(yield* Fiber.join(states), [1, 0, "Cancelled"])
    })
  )

  it.effect("A node whose lease expired by the machine's clock cannot record", () =>
    Effect.gen(function* () {
      const path = yield* file
      const [a, b] = [yield* open({ file: path }), yield* open({ file: path })]
      const { lease } = yield* a.store.create(task, "a")
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* a.journal.renew("a", [lease]), [])
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* b.journal.claim("b", ["tool"], 10), [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* b.journal.claim("b", ["other"], 10), [])
      assert.strictEqual((yield* b.journal.claim("b", ["tool"], 10))[0]?.lease.epoch, 2)
      const refused = [
        a.journal.record(lease, stepOf(1)),
        a.journal.record(lease, question),
        a.journal.message(lease, "zombie"),
        a.journal.park(lease),
        a.journal.settle(lease, { _tag: "Cancelled" })
      ]
      for (const write of refused) assert.strictEqual((yield* Effect.flip(write))._tag, "Lost")
      assert.deepStrictEqual(yield* a.journal.renew("a", [lease]), [lease])
    })
  )

  it.effect("A task whose answer arrives while it is parked is due at once", () =>
    Effect.gen(function* () {
      const { journal, store } = yield* open({ file: yield* file })
      const claims = Effect.map(journal.claim("b", ["tool"], 10), (claimed) => claimed.map(({ lease }) => lease))
      const { lease, task: made } = yield* store.create(task, "a")
      yield* journal.record(lease, question)
      yield* journal.park(lease, { at: 20_000, answers: ["q"] })
      assert.deepStrictEqual(yield* claims, [])
      yield* TestClock.adjust("20 seconds")
      const [second] = yield* claims
      assert.isDefined(second)
      yield* store.answer(made.id, "ada", { q: result(1) })
      yield* journal.park(second, { at: undefined, answers: ["q"] })
      const [third] = yield* claims
      assert.isDefined(third)
      yield* journal.record(third, { ...question, key: "r" })
      yield* journal.park(third, { at: undefined, answers: ["r"] })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* claims, [])
      yield* store.answer(made.id, "ada", { r: result(2) })
      assert.strictEqual((yield* claims).length, 1)
    })
  )

  it.effect("A dead process's task is claimed before its lease ends, a living one's is not", () =>
    Effect.gen(function* () {
      const { journal, store } = yield* open({ file: yield* file })
      const ended = spawnSync(process.execPath, ["--version"]).pid
      const here = journal.node.split(":")[0]
      const left = yield* store.create(task, `${here}:${ended}:x`)
      yield* store.create(task, `${here}:${process.ppid}:x`)
      yield* store.create(task, `elsewhere:${ended}:x`)
      yield* store.create(task, journal.node)
      const claimed = yield* journal.claim("b", ["tool"], 10)
      assert.deepStrictEqual(
        claimed.map(({ lease }) => lease.task),
        [left.task.id]
      )
    })
  )

  it.effect("A task from another container with the same host name is not claimed", () =>
    Effect.gen(function* () {
      const { journal, store } = yield* open({ file: yield* file })
      const [name = ""] = (machine ?? hostname()).split("/")
      const [ended, own] = [spawnSync(process.execPath, ["--version"]).pid, process.pid]
      for (const pid of [ended, own]) yield* store.create(task, `${name}/1:${pid}:x`)
      for (const pid of [ended, own]) yield* store.create(task, `${name}:${pid}:x`)
      assert.deepStrictEqual(yield* journal.claim("b", ["tool"], 10), [])
    })
  )

  it.effect("A task past its time to live fails and is removed later", () =>
    Effect.gen(function* () {
      const path = yield* file
      const { journal, store } = yield* open({ file: path })
      const { lease, task: made } = yield* store.create(task, "a")
      yield* journal.record(lease, stepOf(1))
      const lost = yield* Effect.forkChild(journal.lost(lease), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* journal.sweep, 1)
      assert.strictEqual((yield* Fiber.join(lost)).reason, "expired")
      const late = Option.getOrThrow(yield* store.get(made.id, "ada"))
      assert.strictEqual(late.outcome?._tag === "Error" ? late.outcome.code : undefined, Expired)
      yield* TestClock.adjust("10 minutes")
      assert.isTrue(Option.isNone(yield* store.get(made.id, "ada")))
      assert.deepStrictEqual((yield* store.list("ada", undefined, 10)).tasks, [])
      assert.strictEqual(yield* journal.sweep, 1)
      const db = new DatabaseSync(path, { readOnly: true })
      assert.deepStrictEqual(
        db.prepare("SELECT (SELECT count(*) FROM mcp_task) AS tasks, count(*) AS entries FROM mcp_entry").get(),
        {
          __proto__: null,
          tasks: 0,
          entries: 0
        }
      )
      db.close()
    })
  )

  it.effect("Tasks sharing an owner on SQLite count against their callers", () =>
    Effect.gen(function* () {
      const { store } = yield* open({ file: yield* file, perOwner: 1 })
      yield* TaskLaws.callers(store, "a")
    })
  )

  it.effect("Tasks on SQLite have the same limits as in memory", () =>
    Effect.gen(function* () {
      const limits = { perOwner: 1, total: 2, inputBytes: 50, entryBytes: 80, entries: 2 }
      const { journal, store } = yield* open({ file: yield* file, ...limits })
      const { lease, task: made } = yield* store.create(task, "a")
      assert.include((yield* Effect.flip(store.create(task, "a"))).message, "The caller already has")
      yield* store.create({ ...task, owner: "bob" }, "a")
      assert.include(
        (yield* Effect.flip(store.create({ ...task, owner: "eve" }, "a"))).message,
        "The server is already running"
      )
      assert.strictEqual((yield* Effect.flip(journal.record(lease, stepOf("x".repeat(100)))))._tag, "JournalFull")
      yield* journal.record(lease, stepOf(1))
      yield* journal.record(lease, { ...question, question: { method: "m", params: {} } })
      assert.strictEqual((yield* Effect.flip(journal.record(lease, { ...stepOf(1), key: "t" })))._tag, "JournalFull")
      assert.deepStrictEqual(yield* journal.record(lease, stepOf(2)), stepOf(1))
      const long = { q: { _tag: "Result" as const, result: { text: "x".repeat(100) } } }
      assert.include((yield* Effect.flip(store.answer(made.id, "ada", long))).message, "too large")
      yield* store.cancel(made.id, "ada")
      yield* store.create(task, "a")
      const input = { text: "x".repeat(100) }
      assert.include((yield* Effect.flip(store.create({ ...task, owner: "eve", input }, "a"))).message, "arguments")
      assert.strictEqual((yield* Effect.flip(store.list("ada", "next", 10)))._tag, "UnknownCursor")
    })
  )

  it.effect.skipIf(process.platform === "win32")("Task files are not readable by other users of the machine", () =>
    Effect.gen(function* () {
      const path = yield* file
      const { store } = yield* open({ file: path })
      yield* store.create(task, "a")
      const modes = ["", "-wal", "-shm"].map((part) => statSync(path + part).mode & 0o777)
      assert.deepStrictEqual(modes, [0o600, 0o600, 0o600])
    })
  )

  it.effect("No file is written if the path is `:memory:`", () =>
    Effect.gen(function* () {
      const { store } = yield* open({ file: ":memory:" })
      const { task: made } = yield* store.create(task, "a")
      assert.isTrue(Option.isSome(yield* store.get(made.id, "ada")))
      assert.isFalse(existsSync(":memory:"))
    })
  )

  it.effect("A pinned task stays with its deployment until one of its nodes releases it on shutdown", () =>
    Effect.gen(function* () {
      const path = yield* file
      const old = yield* open({ file: path, deployment: "1", pin: true })
      const next = yield* open({ file: path, deployment: "2" })
      const { lease } = yield* old.store.create(task, "a")
      yield* old.journal.record(lease, question)
      yield* old.journal.park(lease, { at: 0, answers: [] })
      assert.deepStrictEqual(yield* next.journal.claim("b", ["tool"], 1), [])
      const [claimed] = yield* old.journal.claim("a", ["tool"], 1)
      assert.isDefined(claimed)
      yield* old.journal.park(claimed.lease)
      assert.strictEqual((yield* next.journal.claim("b", ["tool"], 1)).length, 1)
    })
  )

  it.effect("Writes are synced to disk only if tasks must survive a machine failure", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const path = yield* file
      for (const [survives, synchronous] of [
        ["kill", 1],
        ["power", 2]
      ] as const) {
        const { sql } = yield* Client.make({ file: path, survives, clock })
        assert.deepStrictEqual(yield* sql.unsafe("PRAGMA synchronous"), [{ __proto__: null, synchronous }])
      }
    })
  )

  it.live("A write waits for another process writing to the file", () =>
    Effect.gen(function* () {
      const path = yield* file
      const { journal, store } = yield* open({ file: path })
      const { lease } = yield* store.create(task, "a")
      const foreign = new DatabaseSync(path)
      foreign.exec("BEGIN IMMEDIATE")
      const writing = yield* Effect.forkChild(journal.record(lease, stepOf(1)), { startImmediately: true })
      assert.isUndefined(writing.pollUnsafe())
      foreign.exec("COMMIT")
      foreign.close()
      assert.deepStrictEqual(yield* Fiber.join(writing), stepOf(1))
    })
  )

  it.effect("A full disk rejects a new task at once with -31503", () =>
    Effect.gen(function* () {
      const { context, sql } = yield* open({ file: yield* file })
      const long = tool("long", "optional", () => Effect.succeed("done"))
      const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(context))
      const client = yield* connect(yield* serve(Layer.merge(long, tasks)))
      const [row] = yield* sql<{ pages: number }>`SELECT page_count AS pages FROM pragma_page_count()`
      yield* sql.unsafe(`PRAGMA max_page_count = ${row?.pages}`)
      const params = { name: "long", arguments: { text: "x".repeat(100_000) } }
      const error = yield* Effect.flip(client.request("tools/call", params))
      assert.deepInclude(error, {
        code: -31503,
        message: "The task store's disk is full. Try again later"
      })
      yield* sql.unsafe("PRAGMA max_page_count = 10000")
      assert.isString((yield* client.request("tools/call", params))["taskId"])
    })
  )

  it.live("A write waits while the disk is full and succeeds once there is room", () =>
    Effect.gen(function* () {
      const { journal, sql, store } = yield* open({ file: yield* file })
      const { lease, task: made } = yield* store.create(task, "a")
      const [row] = yield* sql<{ pages: number }>`SELECT page_count + 2 AS pages FROM pragma_page_count()`
      yield* sql.unsafe(`PRAGMA max_page_count = ${row?.pages}`)
      const long = "x".repeat(100_000)
      const writing = yield* Effect.forkChild(journal.record(lease, stepOf(long)), { startImmediately: true })
      yield* Effect.sleep("100 millis")
      assert.isUndefined(writing.pollUnsafe())
      assert.isUndefined(Option.getOrThrow(yield* store.get(made.id, "ada")).outcome)
      yield* sql.unsafe("PRAGMA max_page_count = 10000")
      assert.deepStrictEqual(yield* Fiber.join(writing), stepOf(long))
    })
  )

  it.effect("Any number of processes can open a new task file concurrently", () =>
    Effect.gen(function* () {
      const path = yield* file
      const opened = yield* Effect.all(
        Array.from({ length: 5 }, () => open({ file: path, survives: "power" })),
        { concurrency: "unbounded" }
      )
      for (const { store } of opened) yield* store.create(task, "a")
      assert.strictEqual((yield* opened[0]!.store.list("ada", undefined, 10)).tasks.length, 5)
    })
  )
})
