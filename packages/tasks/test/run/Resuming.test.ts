/** Tasks that continue after they were parked, after their server ended, or on another node, over one store. */
import { Elicitation, Once, Principal } from "@effect-mcp/core"
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import { Tasks } from "@effect-mcp/tasks"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Logger, Scope } from "effect"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { type Entry, Journal } from "../../src/store/Journal.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"
import { connect, serve, type Seen } from "../support/client.ts"
import { tool } from "../support/tools.ts"

const ok = { method: "elicitation/create", action: "accept", content: { ok: true } }
const confirm = Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
const principal: Principal.Principal["Service"] = {
  subject: "ada",
  scopes: ["write"],
  claims: { iss: "https://issuer", secret: "s" }
}

/** A server on the store of the test, in a separate scope, and a client that names itself. */
const node = Effect.fnUntraced(function* (...tools: ReadonlyArray<ReturnType<typeof tool>>) {
  const store = yield* Effect.context<TaskStore | Journal>()
  const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(store))
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
  const server = yield* Scope.provide(serve(Layer.mergeAll(tasks, ...tools)), scope)
  const client = yield* Scope.provide(connect(server, { principal }), scope)
  return { client, close: Scope.close(scope, Exit.void) }
})

const textOf = (task: Seen) => task["result"]?.content?.[0]?.text ?? task["error"]?.message

describe("Continued tasks", () => {
  it.effect("A task is parked after waiting 30 seconds for an answer and resumes with it", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { client } = yield* node(
        tool("ask", "optional", () =>
          Effect.gen(function* () {
            seen.push("start")
            const n = yield* Once.run(
              "count",
              Schema.Int,
              Effect.sync(() => seen.push("step"))
            )
            const { ok } = yield* confirm
            return `${n} ${ok}`
          }).pipe(
            Effect.onExit((exit) =>
              Effect.sync(() => Exit.isFailure(exit) && seen.push(`suspended ${isSuspension(exit.cause)}`))
            )
          )
        )
      )
      const { taskId } = yield* client.call("ask")
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(seen, ["start", "step"])
      yield* TestClock.adjust("12 seconds")
      assert.deepStrictEqual(seen, ["start", "step", "suspended true"])
      assert.strictEqual((yield* client.get(taskId))["status"], "input_required")
      yield* TestClock.adjust("2 hours")
      yield* client.update(taskId, { sure: ok })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen, ["start", "step", "suspended true", "start"])
      assert.strictEqual(textOf(yield* client.get(taskId)), "2 true")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task is parked during a long sleep and later sleeps only for the rest", () =>
    Effect.gen(function* () {
      let starts = 0
      const { client } = yield* node(
        tool("nap", "optional", () =>
          Effect.gen(function* () {
            starts++
            yield* Once.sleep("short", "40 seconds")
            yield* Once.sleep("long", "1 hour")
            return "awake"
          })
        )
      )
      const { taskId } = yield* client.call("nap")
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* client.get(taskId))["status"], "working")
      assert.strictEqual(starts, 1)
      yield* TestClock.adjust("101 seconds")
      assert.strictEqual(starts, 2)
      assert.strictEqual(textOf(yield* client.get(taskId)), "awake")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task is not parked while a step or another fiber runs", () =>
    Effect.gen(function* () {
      let starts = 0
      const { client } = yield* node(
        tool("busy", "optional", () =>
          Effect.gen(function* () {
            starts++
            yield* Effect.forkChild(Effect.forever(Effect.sleep("5 seconds")))
            return String((yield* confirm).ok)
          })
        ),
        tool("step", "optional", () => {
          starts++
          const step = Once.run("long", Schema.String, Effect.as(Effect.sleep("5 minutes"), "done"))
          return Effect.map(Effect.all([step, confirm], { concurrency: 2 }), ([done]) => done)
        })
      )
      const busy = yield* client.call("busy")
      const step = yield* client.call("step")
      yield* TestClock.adjust("4 minutes")
      assert.strictEqual(starts, 2)
      for (const { taskId } of [busy, step]) yield* client.update(taskId, { sure: ok })
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(starts, 2)
      assert.strictEqual(textOf(yield* client.get(busy["taskId"])), "true")
      assert.strictEqual(textOf(yield* client.get(step["taskId"])), "done")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A stopping node records its task's running step and hands the task over at once", () =>
    Effect.gen(function* () {
      const bodies: Array<string> = []
      const began = yield* Deferred.make<void>()
      const step = (name: string, by: string, seconds = 5) =>
        Once.run(
          name,
          Schema.String,
          Effect.gen(function* () {
            bodies.push(`${name} ${by}`)
            yield* Deferred.succeed(began, undefined)
            yield* Effect.sleep(`${seconds} seconds`)
            return by
          })
        )
      const steps = (by: string) =>
        tool("steps", "optional", () =>
          Effect.map(
            Effect.all([Effect.all([step("one", by), step("two", by)]), step("other", by, 8)], { concurrency: 2 }),
            (made) => made.flat().join(" ")
          )
        )
      const a = yield* node(steps("a"))
      const b = yield* node(steps("b"))
      const { taskId } = yield* a.client.call("steps")
      yield* Deferred.await(began)
      const closing = yield* Effect.forkChild(a.close, { startImmediately: true })
      yield* TestClock.adjust("8 seconds")
      assert.isDefined(closing.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(bodies, ["one a", "other a", "two b"])
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(textOf(yield* b.client.get(taskId)), "a b a")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A step has the same key and caller in every attempt", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const began = yield* Deferred.make<void>()
      const pay = tool("pay", "optional", () =>
        Effect.gen(function* () {
          const { claims, scopes, subject } = yield* Principal.Principal
          const body = Effect.gen(function* () {
            seen.push([yield* Once.key, subject, scopes, claims])
            yield* Deferred.succeed(began, undefined)
            return yield* seen.length === 1 ? Effect.never : Effect.succeed("paid")
          })
          return yield* Once.run("charge", Schema.String, body)
        })
      )
      const a = yield* node(pay)
      const b = yield* node(pay)
      const { taskId } = yield* a.client.call("pay")
      yield* Deferred.await(began)
      const closing = yield* Effect.forkChild(a.close, { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.isDefined(closing.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(textOf(yield* b.client.get(taskId)), "paid")
      const one = [`${String(taskId)}/charge`, "ada", ["write"], { iss: "https://issuer" }]
      assert.deepStrictEqual(seen, [one, one])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task is only claimed by a node with its tool", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const store = yield* TaskStore
      const a = yield* node(tool("mine", "optional", () => Effect.never))
      const { taskId } = yield* a.client.call("mine")
      const b = yield* node(tool("other", "optional", () => Effect.succeed("no")))
      yield* a.close
      yield* TestClock.adjust("1 minute")
      const owner = `principal ${JSON.stringify(["https://issuer", "ada"])}`
      assert.isTrue((yield* store.get(String(taskId), owner))._tag === "Some")
      assert.strictEqual((yield* b.client.get(taskId))["status"], "working")
      assert.strictEqual((yield* journal.claim("c", ["mine"], 1)).length, 1)
    }).pipe(Effect.provide(Memory.layer()))
  )
})

/** A task with this record, parked on a node that is gone. */
const left = Effect.fnUntraced(function* (entry: Entry) {
  const { client: a, close } = yield* node(tool("left", "optional", () => Effect.never))
  const { taskId } = yield* a.call("left")
  yield* close
  const journal = yield* Journal
  const [claimed] = yield* journal.claim("x", ["left"], 1)
  yield* journal.record(claimed!.lease, entry)
  yield* journal.park(claimed!.lease)
  return taskId
})

describe("Changed handlers", () => {
  it.effect("A changed handler fails if a recorded value no longer matches its step", () =>
    Effect.gen(function* () {
      const taskId = yield* left({ _tag: "Step", key: "step:count", value: "many" })
      const count = Once.run("count", Schema.Int, Effect.succeed(1))
      const { client } = yield* node(tool("left", "optional", () => Effect.map(count, String)))
      yield* TestClock.adjust("1 second")
      assert.include(textOf(yield* client.get(taskId)), "Journal mismatch: the recorded value of step count")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A changed handler that skips a recorded step ends with its result and a log line", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return Effect.gen(function* () {
      const taskId = yield* left({ _tag: "Step", key: "step:old", value: 1 })
      const { client } = yield* node(tool("left", "optional", () => Effect.succeed("new")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(textOf(yield* client.get(taskId)), "new")
      assert.include(logged.join(), "step:old")
    }).pipe(Effect.provide(Layer.merge(Logger.layer([logger]), Memory.layer())))
  })
})

describe("Node supervisor", () => {
  it.effect("A supervisor that cannot renew stops its tasks after two thirds of a lease", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const reason = yield* Deferred.make<string | undefined>()
      const failing = Layer.succeed(Journal, { ...journal, renew: () => Effect.die(new Error("no database")) })
      const handler: () => ReturnType<Parameters<typeof tool>[2]> = () =>
        Effect.onExit(Effect.never, (exit) =>
          Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : undefined)
        )
      const { client } = yield* Effect.provide(node(tool("run", "optional", handler)), failing)
      const { taskId } = yield* client.call("run")
      yield* TestClock.adjust("6 seconds")
      assert.isFalse(yield* Deferred.isDone(reason))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Deferred.await(reason), "The task's lease could not be renewed")
      assert.deepStrictEqual(yield* journal.claim("other", ["run"], 1), [])
      yield* TestClock.adjust("4 seconds")
      yield* quiesce
      assert.strictEqual((yield* client.get(taskId))["status"], "working")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A lease counts from the start of its renewal, even if the answer is late", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const stopped = yield* Deferred.make<void>()
      let renewals = 0
      const renew: typeof journal.renew = (node, leases) =>
        renewals++ === 0
          ? Effect.andThen(journal.renew(node, leases), Effect.delay(Effect.succeed([]), "3 seconds"))
          : Effect.never
      const handler = () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      const late = Layer.succeed(Journal, { ...journal, renew })
      const { client } = yield* Effect.provide(node(tool("run", "optional", handler)), late)
      yield* client.call("run")
      yield* TestClock.adjust("9900 millis")
      assert.isFalse(yield* Deferred.isDone(stopped))
      yield* TestClock.adjust("200 millis")
      yield* Deferred.await(stopped)
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A supervisor abandons a task after ten claims without new records", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const store = yield* TaskStore
      let runs = 0
      const task = { owner: "anonymous", tool: "crash", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }
      const { task: made } = yield* store.create(task, "dead")
      for (let attempt = 0; attempt < 10; attempt++) {
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* journal.claim("dead", ["crash"], 1)).length, 1)
      }
      yield* node(tool("crash", "optional", () => Effect.sync(() => String(runs++))))
      yield* TestClock.adjust("12 seconds")
      const seen = yield* store.get(made.id, "anonymous")
      assert.strictEqual(runs, 0)
      const outcome = seen._tag === "Some" ? seen.value.outcome : undefined
      assert.include(outcome?._tag === "Error" ? outcome.message : "", "Gave up after 10 attempts")
    }).pipe(Effect.provide(Memory.layer()))
  )
})
