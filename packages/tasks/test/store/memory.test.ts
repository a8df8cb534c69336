import { assert, describe, it } from "@effect/vitest"
import { quiesce } from "@effect-mcp/testing"
import { Deferred, Effect, Exit, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as TaskLaws from "../support/TaskLaws.ts"
import { stateOf } from "../../src/model/Task.ts"
import * as Memory from "../../src/store/memory.ts"
import { Journal } from "../../src/store/Journal.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const result = (result: { readonly [key: string]: unknown }) => ({ _tag: "Result" as const, result })
const question = { method: "roots/list", params: {} }

describe("Tasks in memory", () => {
  it.effect.prop(
    "Tasks in memory obey the store laws in random histories of two nodes and two callers",
    { history: TaskLaws.histories },
    ({ history }) => Effect.provide(TaskLaws.run(history), Memory.layer({ perOwner: 100 }), { local: true }),
    { arbitrary: { runs: 500, size: 40 } }
  )

  it.effect("A change stream starts with the newest state and ends with the outcome", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease, task: made } = yield* store.create(task, "a")
      const states = yield* Effect.forkChild(Stream.runCollect(Stream.map(store.changes(made.id, "ada"), stateOf)), {
        startImmediately: true
      })
      yield* journal.record(lease, { _tag: "Question", key: "q", question })
      yield* TestClock.adjust(1)
      yield* store.answer(made.id, "ada", { q: result({ roots: [] }) })
      yield* TestClock.adjust(1)
      yield* journal.settle(lease, { _tag: "Result", result: {} })
      assert.deepStrictEqual(yield* Fiber.join(states), ["working", "input_required", "working", "done"])
      assert.deepStrictEqual(yield* Stream.runCollect(store.changes(made.id, "eve")), [])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A slow reader of changes still receives the end", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease, task: made } = yield* store.create(task, "a")
      const isTaken = yield* Deferred.make<void>()
      const isReady = yield* Deferred.make<void>()
      const slow = Stream.mapEffect(store.changes(made.id, "ada"), (task) =>
        Effect.as(Effect.andThen(Deferred.succeed(isTaken, undefined), Deferred.await(isReady)), stateOf(task))
      )
      const states = yield* Effect.forkChild(Stream.runCollect(slow), { startImmediately: true })
      yield* Deferred.await(isTaken)
      yield* journal.settle(lease, { _tag: "Result", result: {} })
      yield* Deferred.succeed(isReady, undefined)
      yield* quiesce
      assert.deepStrictEqual(states.pollUnsafe(), Exit.succeed(["working", "done"]))
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("An answer reaches the waiting fiber once", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease, task: made } = yield* store.create(task, "a")
      yield* journal.record(lease, { _tag: "Question", key: "q", question })
      const waiting = yield* Effect.forkChild(journal.answer(lease, "q"), { startImmediately: true })
      assert.deepStrictEqual(
        yield* store.answer(made.id, "ada", { q: result({ n: 1 }), unknown: result({}) }),
        Option.some(["q"])
      )
      assert.deepStrictEqual(yield* store.answer(made.id, "ada", { q: result({ n: 2 }) }), Option.some([]))
      assert.deepStrictEqual(yield* Fiber.join(waiting), result({ n: 1 }))
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A node whose lease expired cannot record and notices the loss", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease } = yield* store.create(task, "a")
      const lost = yield* Effect.forkChild(journal.lost(lease), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* journal.renew("a", [lease]), [])
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* journal.claim("b", ["tool"], 10), [])
      yield* TestClock.adjust("1 second")
      const [claimed] = yield* journal.claim("b", ["tool"], 10)
      assert.strictEqual(claimed?.lease.epoch, 2)
      assert.strictEqual((yield* Effect.flip(journal.settle(lease, { _tag: "Cancelled" })))._tag, "Lost")
      assert.strictEqual((yield* Fiber.join(lost))._tag, "Lost")
      assert.deepStrictEqual(yield* journal.renew("a", [lease]), [lease])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A nested claim returns no task that is already claimed", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const leases = yield* Effect.forEach([1, 2, 3], () => Effect.map(store.create(task, "a"), ({ lease }) => lease))
      const within = yield* Effect.forEach(leases, (lease) =>
        Effect.forkChild(Effect.andThen(journal.lost(lease), journal.claim("b", ["tool"], 10)), {
          startImmediately: true
        })
      )
      yield* TestClock.adjust("10 seconds")
      const claimed = yield* journal.claim("c", ["tool"], 10)
      const others = (yield* Effect.forEach(within, (fiber) => Fiber.join(fiber))).flat()
      assert.deepStrictEqual(
        claimed.map(({ lease }) => lease),
        leases.map(({ task }) => ({ task, epoch: 2 }))
      )
      assert.deepStrictEqual(others, [])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task claimed during its own claim gets a new epoch each time", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease } = yield* store.create(task, "a")
      const again = Effect.andThen(journal.lost(lease), journal.take("b", lease.task))
      const within = yield* Effect.forkChild(again, { startImmediately: true })
      const outer = Option.getOrThrow(yield* journal.take("c", lease.task))
      const inner = Option.getOrThrow(yield* Fiber.join(within))
      assert.deepStrictEqual([outer.lease.epoch, inner.lease.epoch], [2, 3])
      assert.strictEqual((yield* Effect.flip(journal.settle(outer.lease, result({}))))._tag, "Lost")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A parked task is due at once when its answer arrives", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const claims = Effect.map(journal.claim("b", ["tool"], 10), (claimed) => claimed.map(({ lease }) => lease))
      const { lease, task: made } = yield* store.create(task, "a")
      yield* journal.record(lease, { _tag: "Question", key: "q", question })
      yield* journal.park(lease, { at: 20_000, answers: ["q"] })
      assert.deepStrictEqual(yield* claims, [])
      yield* TestClock.adjust("20 seconds")
      const [second] = yield* claims
      assert.isDefined(second)
      yield* store.answer(made.id, "ada", { q: result({ n: 1 }) })
      yield* journal.park(second, { at: undefined, answers: ["q"] })
      const [third] = yield* claims
      assert.isDefined(third)
      yield* journal.record(third, { _tag: "Question", key: "r", question })
      yield* journal.park(third, { at: undefined, answers: ["r"] })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* claims, [])
      yield* store.answer(made.id, "ada", { r: result({ n: 2 }) })
      assert.strictEqual((yield* claims).length, 1)
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task past its ttl fails and is forgotten later", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { task: made } = yield* store.create(task, "a")
      yield* TestClock.adjust("1 minute")
      const late = Option.getOrThrow(yield* store.get(made.id, "ada"))
      assert.strictEqual(late.outcome?._tag === "Error" ? late.outcome.code : undefined, -31504)
      assert.strictEqual(yield* journal.sweep, 0)
      yield* TestClock.adjust("10 minutes")
      assert.isTrue(Option.isNone(yield* store.get(made.id, "ada")))
      assert.strictEqual(yield* journal.sweep, 1)
      assert.deepStrictEqual((yield* store.list("ada", undefined, 10)).tasks, [])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task ended by a reader during a sweep ends only once", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { task: first } = yield* store.create(task, "a")
      const { task: second } = yield* store.create(task, "a")
      const last = Effect.andThen(Stream.runDrain(store.changes(first.id, "ada")), store.get(second.id, "ada"))
      const reading = yield* Effect.forkChild(last, { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* journal.sweep, 1)
      assert.isDefined(Option.getOrThrow(yield* Fiber.join(reading)).outcome)
      yield* store.create(task, "a")
      yield* store.create(task, "a")
      assert.strictEqual((yield* Effect.flip(store.create(task, "a")))._tag, "LimitReached")
      assert.strictEqual((yield* store.list("ada", undefined, 10)).tasks.length, 4)
    }).pipe(Effect.provide(Memory.layer({ perOwner: 2 })))
  )

  it.effect("A parked task that expires in memory is reported once", () =>
    Effect.gen(function* () {
      const node = { store: yield* TaskStore, journal: yield* Journal }
      yield* TaskLaws.expiry([node], TestClock.adjust("2 minutes"))
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task over a limit is rejected with the reason, and an ended task makes room", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const { lease, task: made } = yield* store.create(task, "a")
      assert.include((yield* Effect.flip(store.create(task, "a"))).message, "The caller already has")
      yield* store.create({ ...task, owner: "bob" }, "a")
      assert.include(
        (yield* Effect.flip(store.create({ ...task, owner: "eve" }, "a"))).message,
        "The server is already running"
      )
      const entry = { _tag: "Step" as const, key: "big", value: "x".repeat(100) }
      assert.strictEqual((yield* Effect.flip(journal.record(lease, entry)))._tag, "JournalFull")
      yield* store.cancel(made.id, "ada")
      yield* store.create(task, "a")
      const long = { ...task, owner: "ada", input: { text: "x".repeat(100) } }
      yield* store.cancel((yield* store.list("bob", undefined, 1)).tasks[0]!.id, "bob")
      assert.include((yield* Effect.flip(store.create({ ...long, owner: "bob" }, "a"))).message, "arguments")
    }).pipe(Effect.provide(Memory.layer({ perOwner: 1, total: 2, inputBytes: 50, entryBytes: 80 })))
  )

  it.effect("Tasks sharing an owner count against their callers and are found by the owner", () =>
    Effect.gen(function* () {
      yield* TaskLaws.callers(yield* TaskStore, "a")
    }).pipe(Effect.provide(Memory.layer({ perOwner: 1 })))
  )

  it.effect("The caller with the most ended tasks loses one first", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const make = (caller: string) =>
        Effect.tap(store.create({ ...task, owner: "anonymous", caller }, "a"), ({ task: { id } }) =>
          store.cancel(id, "anonymous")
        )
      for (let count = 0; count < 2; count++) yield* make("eve")
      assert.strictEqual((yield* Effect.flip(make("eve")))._tag, "LimitReached")
      const { task: own } = yield* make("ada")
      assert.isTrue(Option.isSome(yield* store.get(own.id, "anonymous")))
    }).pipe(Effect.provide(Memory.layer({ kept: 4 })))
  )

  /** Creates a task that ends at once, and optionally reads it. */
  const ended = Effect.fnUntraced(function* (owner: string, { bytes = 0, read = false } = {}) {
    const store = yield* TaskStore
    const journal = yield* Journal
    const { lease, task: made } = yield* store.create({ ...task, owner, ttl: 86_400_000 }, "a")
    yield* journal.settle(lease, { _tag: "Result", result: { text: "x".repeat(bytes) } })
    if (read) yield* store.get(made.id, owner)
    return made.id
  })
  const known = (owner: string) =>
    Effect.flatMap(TaskStore, (store) =>
      Effect.map(store.list(owner, undefined, 100), ({ tasks }) => tasks.map(({ id }) => id))
    )

  it.effect("A caller with over half of the ended tasks first loses one it has read", () =>
    Effect.gen(function* () {
      const unread = yield* ended("ada")
      const read = [yield* ended("ada", { read: true }), yield* ended("ada", { read: true })]
      const next = yield* ended("ada")
      assert.deepStrictEqual(yield* known("ada"), [unread, read[1], next])
      const last = yield* ended("ada")
      assert.deepStrictEqual(yield* known("ada"), [unread, next, last])
      // No task was read.
      assert.include((yield* Effect.flip(ended("ada"))).message, "too many finished tasks")
      assert.deepStrictEqual(yield* known("ada"), [unread, next, last])
      // Other callers are not affected.
      const bob = yield* ended("bob")
      assert.deepStrictEqual(yield* known("bob"), [bob])
      yield* TestClock.adjust("1 day")
      yield* (yield* Journal).sweep
      yield* ended("ada")
    }).pipe(Effect.provide(Memory.layer({ kept: 6 })))
  )

  it.effect("A full memory makes room by forgetting a task of the largest caller", () =>
    Effect.gen(function* () {
      const ada = [yield* ended("ada"), yield* ended("ada")]
      const bob = yield* ended("bob")
      const zoe = yield* ended("zoe")
      const eve = yield* ended("eve")
      assert.deepStrictEqual(
        [yield* known("ada"), yield* known("bob"), yield* known("zoe"), yield* known("eve")],
        [[ada[1]], [bob], [zoe], [eve]]
      )
      assert.include(
        (yield* Effect.flip(Effect.andThen(ended("ada"), ended("ada")))).message,
        "too many finished tasks"
      )
    }).pipe(Effect.provide(Memory.layer({ kept: 4 })))
  )

  it.effect("Results of ended tasks also count towards the memory limit", () =>
    Effect.gen(function* () {
      yield* ended("ada", { bytes: 600 })
      assert.include((yield* Effect.flip(ended("ada"))).message, "too many finished tasks")
      yield* ended("bob", { bytes: 300 })
      yield* ended("bob")
    }).pipe(Effect.provide(Memory.layer({ keptBytes: 1000 })))
  )

  it.effect("Ended tasks keep at most the byte limit in total", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const journal = yield* Journal
      const bob = yield* ended("bob", { bytes: 200 })
      const running = yield* Effect.forEach([1, 2, 3, 4], () => store.create(task, "a"))
      for (const { lease } of running) {
        yield* journal.settle(lease, { _tag: "Result", result: { text: "x".repeat(300) } })
      }
      const ids = running.map(({ task }) => task.id)
      assert.deepStrictEqual([yield* known("ada"), yield* known("bob")], [ids.slice(2), [bob]])
      const read = yield* store.create({ ...task, owner: "zoe" }, "a")
      yield* journal.settle(read.lease, { _tag: "Result", result: { text: "x".repeat(2000) } })
      assert.deepStrictEqual(yield* known("zoe"), [read.task.id])
    }).pipe(Effect.provide(Memory.layer({ keptBytes: 1000 })))
  )

  it.effect("An invalid page cursor is rejected", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      assert.strictEqual((yield* Effect.flip(store.list("ada", "next", 10)))._tag, "UnknownCursor")
    }).pipe(Effect.provide(Memory.layer()))
  )
})
