/** The laws of a store for databases, in random histories of several nodes, like for the in-memory store. */
import * as TaskLaws from "../../support/TaskLaws.ts"
import { Journal } from "@effect-mcp/tasks/Journal"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Logger, Option } from "effect"
import { scaled } from "@effect-mcp/spec/Scale"
import { databases } from "../../support/stores.ts"

const limits = { perOwner: 100, lease: 3_600_000 }

for (const { missing, name, place, runs } of databases) {
  describe(`Tasks on ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.effect.prop(
      "Tasks obey the store laws in random histories of two nodes and two callers",
      { history: TaskLaws.histories },
      ({ history }) =>
        Effect.gen(function* () {
          const { context } = yield* (yield* place)(limits)
          yield* Effect.provideContext(TaskLaws.run(history), context)
        }).pipe(Effect.scoped),
      { arbitrary: { runs: scaled(runs, 300), size: 40 } }
    )

    it.effect.prop(
      "Tasks obey the store laws with requests and claims from two processes",
      { history: TaskLaws.histories },
      ({ history }) =>
        Effect.gen(function* () {
          const open = yield* place
          const [a, b] = [yield* open(limits), yield* open(limits)]
          const both = Context.make(TaskStore, a.store).pipe(Context.add(Journal, b.journal))
          yield* Effect.provideContext(TaskLaws.run(history), both)
        }).pipe(Effect.scoped),
      { arbitrary: { runs: scaled(runs, 300), size: 40 } }
    )

    it.effect("An expired task that no node runs is reported once", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [a, b] = [yield* open(limits), yield* open(limits)]
        // The store has a separate clock.
        const pass = Effect.gen(function* () {
          yield* a.sql`UPDATE mcp_task SET expires = 0`
          yield* a.sql`UPDATE mcp_task SET due = 0 WHERE node <> 'a'`
        }).pipe(Effect.orDie)
        yield* TaskLaws.expiry([a, b], pass)
      }).pipe(Effect.scoped)
    )

    it.effect("Ended tasks are limited, and the largest caller's oldest is forgotten first", () =>
      Effect.gen(function* () {
        const { journal, sql, store } = yield* (yield* place)({ ...limits, kept: 3 })
        let count = 0
        const end = Effect.fnUntraced(function* (owner: string) {
          const task = { owner, tool: "tool", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }
          const { lease } = yield* store.create(task, "a")
          yield* journal.record(lease, { _tag: "Step", key: "s", value: 1 })
          yield* journal.settle(lease, { _tag: "Result", result: {} })
          // Two may end in the same millisecond.
          yield* sql`UPDATE mcp_task SET ended = ${++count} WHERE id = ${lease.task}`
          return lease.task
        })
        const bob = yield* end("bob")
        const ada = yield* Effect.forEach([1, 2, 3, 4], () => end("ada"))
        assert.strictEqual(yield* journal.sweep, 2)
        assert.deepStrictEqual(yield* sql`SELECT key FROM mcp_entry`, [])
        const kept = Effect.fnUntraced(function* (owner: string) {
          return (yield* store.list(owner, undefined, 10)).tasks.map(({ id }) => id).toSorted()
        })
        assert.deepStrictEqual(yield* kept("bob"), [bob])
        assert.deepStrictEqual(yield* kept("ada"), ada.slice(2).toSorted())
        assert.strictEqual(yield* journal.sweep, 0)
      }).pipe(Effect.scoped)
    )

    it.effect("Ended tasks keep no arguments or steps, and limited result bytes", () =>
      Effect.gen(function* () {
        const { journal, sql, store } = yield* (yield* place)({ ...limits, keptBytes: 400 })
        const input = { secret: "x" }
        const task = { owner: "ada", tool: "tool", input, client: input, ttl: 86_400_000, pollInterval: 1000 }
        for (const length of [100, 100, 500]) {
          const { lease } = yield* store.create(task, "a")
          yield* journal.record(lease, { _tag: "Step", key: "s", value: 1 })
          yield* journal.settle(lease, { _tag: "Result", result: { text: "x".repeat(length) } })
          yield* sql`UPDATE mcp_task SET ended = ${-length} WHERE id = ${lease.task}`
        }
        assert.strictEqual(yield* journal.sweep, 1)
        const rows = yield* sql`SELECT input, client FROM mcp_task`
        const none = { input: "{}", client: "{}" }
        assert.deepStrictEqual(
          rows.map((row) => ({ ...row })),
          [none, none]
        )
        assert.deepStrictEqual(yield* sql`SELECT key FROM mcp_entry`, [])
      }).pipe(Effect.scoped)
    )

    it.effect("A task whose creation lease expired is listed as unstarted", () =>
      Effect.gen(function* () {
        const { journal, sql, store } = yield* (yield* place)(limits)
        const task = { owner: "ada", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }
        const make = (tool: string) => Effect.map(store.create({ ...task, tool }, "dead"), ({ lease }) => lease)
        const unstarted = journal.unstarted(["tool"], 10)
        const missed = yield* make("tool")
        const [taken, parked, ended] = [yield* make("tool"), yield* make("tool"), yield* make("tool")]
        yield* make("other")
        assert.deepStrictEqual(yield* unstarted, [])
        yield* journal.take("b", taken.task)
        yield* journal.park(parked)
        yield* journal.settle(ended, { _tag: "Result", result: {} })
        yield* sql`UPDATE mcp_task SET due = 0 WHERE due IS NOT NULL`
        assert.deepStrictEqual(yield* unstarted, [missed.task])
        yield* journal.take("b", missed.task)
        assert.deepStrictEqual(yield* unstarted, [])
      }).pipe(Effect.scoped)
    )

    it.effect("The task list contains each task once across its pages", () =>
      Effect.gen(function* () {
        const { store } = yield* (yield* place)(limits)
        const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
        const made = yield* Effect.replicateEffect(store.create(task, "a"), 3)
        const first = yield* store.list("ada", undefined, 2)
        const rest = yield* store.list("ada", first.next, 2)
        const ids = [...first.tasks, ...rest.tasks].map(({ id }) => id)
        assert.deepStrictEqual(ids.toSorted(), made.map(({ task }) => task.id).toSorted())
        assert.isUndefined(rest.next)
      }).pipe(Effect.scoped)
    )

    it.effect("Client ids with lone surrogates or NUL match nothing", () =>
      Effect.gen(function* () {
        const { journal, store } = yield* (yield* place)(limits)
        const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
        const { lease, task: made } = yield* store.create(task, "a")
        const question = { _tag: "Question" as const, key: "q", question: { method: "roots/list", params: {} } }
        yield* journal.record(lease, question)
        const answer = { _tag: "Result" as const, result: {} }
        for (const end of ["\ud800", "\udc00x", "\u0000", "\u0000x"]) {
          assert.deepStrictEqual(yield* store.get(made.id + end, "ada"), Option.none())
          assert.deepStrictEqual(yield* store.cancel(made.id + end, "ada", end), Option.none())
          assert.deepStrictEqual(yield* store.answer(made.id, "ada", { [`q${end}`]: answer }), Option.some([]))
          yield* journal.message(lease, `m${end}`)
          yield* journal.record(lease, { _tag: "Step", key: `s${end}`, value: end })
        }
        yield* journal.record(lease, { ...question, key: "q\ud800" })
        const parts = { _tag: "Result" as const, result: { "\ud800": "\ud800" } }
        assert.deepStrictEqual(yield* store.answer(made.id, "ada", { q: parts }), Option.some(["q"]))
        yield* journal.park(lease, { at: undefined, answers: ["q\ud800"] })
        assert.deepStrictEqual(yield* journal.claim("b", ["tool"], 1), [])
        const cancelled = Option.getOrThrow(yield* store.cancel(made.id, "ada", "\ud800"))
        assert.strictEqual(cancelled.message, "\ufffd")
      }).pipe(Effect.scoped)
    )

    it.effect("An ended task keeps no progress message", () =>
      Effect.gen(function* () {
        const { journal, store } = yield* (yield* place)(limits)
        const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
        const messages = yield* Effect.forEach([undefined, "All done"], (last) =>
          Effect.gen(function* () {
            const { lease, task: made } = yield* store.create(task, "a")
            yield* journal.message(lease, "half way")
            yield* journal.settle(lease, { _tag: "Result", result: {} }, last)
            return Option.getOrThrow(yield* store.get(made.id, "ada")).message
          })
        )
        assert.deepStrictEqual(messages, [undefined, "All done"])
      }).pipe(Effect.scoped)
    )

    it.effect("A corrupt row is skipped by lists and claims and logged once", () =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => void logged.push(message))
        const { journal, sql, store } = yield* (yield* place)(limits)
        const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
        const make = Effect.map(store.create(task, "a"), ({ lease }) => lease)
        const [ended, broken, whole] = [yield* make, yield* make, yield* make]
        yield* journal.settle(ended, { _tag: "Result", result: {} })
        yield* journal.park(broken)
        yield* journal.park(whole)
        yield* sql`UPDATE mcp_task SET outcome = '{' WHERE id = ${ended.task}`
        yield* sql`UPDATE mcp_task SET input = '{' WHERE id = ${broken.task}`
        yield* Effect.gen(function* () {
          const pages: Array<string> = []
          let cursor: string | undefined
          do {
            const page = yield* store.list("ada", cursor, 1)
            pages.push(...page.tasks.map(({ id }) => id))
            cursor = page.next
          } while (cursor !== undefined)
          assert.deepStrictEqual(pages.toSorted(), [broken.task, whole.task].toSorted())
          assert.deepStrictEqual(yield* store.get(ended.task, "ada"), Option.none())
          yield* store.list("ada", undefined, 10)
          const parked = yield* journal.parked(10)
          assert.deepStrictEqual(
            parked.map(({ task }) => task.id),
            [whole.task]
          )
          const claimed = yield* journal.claim("b", ["tool"], 10)
          assert.deepStrictEqual(
            claimed.map(({ task }) => task.id),
            [whole.task]
          )
          yield* sql`UPDATE mcp_task SET expires = 0`
          yield* sql`UPDATE mcp_task SET due = 0 WHERE due IS NOT NULL`
          yield* journal.sweep
        }).pipe(Effect.provide(Logger.layer([logger])))
        assert.strictEqual(logged.length, 2)
      }).pipe(Effect.scoped)
    )

    it.effect("A store accepts any text from a caller or handler", () =>
      Effect.gen(function* () {
        const { journal, store } = yield* (yield* place)(limits)
        const nul = "a\u0000b\\u0000"
        const task = { owner: "ada", tool: "tool", input: { nul }, client: {}, ttl: 60_000, pollInterval: 1000 }
        assert.deepStrictEqual(yield* store.get(nul, "ada"), Option.none())
        assert.deepStrictEqual(yield* store.cancel(nul, "ada"), Option.none())
        const { lease, task: made } = yield* store.create({ ...task, message: nul }, "a")
        yield* journal.message(lease, nul)
        yield* journal.record(lease, { _tag: "Step", key: nul, value: nul })
        const question = { method: "roots/list", params: { nul } }
        yield* journal.record(lease, { _tag: "Question", key: "q", question })
        const answer = { _tag: "Result" as const, result: { nul } }
        assert.deepStrictEqual(yield* store.answer(made.id, "ada", { [nul]: answer, q: answer }), Option.some(["q"]))
        assert.deepStrictEqual(yield* journal.answer(lease, "q"), answer)
        assert.deepStrictEqual(yield* store.list("ada", undefined, 10).pipe(Effect.map(({ tasks }) => tasks.length)), 1)
        yield* journal.settle(lease, { _tag: "Cancelled" }, nul)
      }).pipe(Effect.scoped)
    )
  })
}
