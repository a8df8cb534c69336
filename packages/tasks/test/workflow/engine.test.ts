/** Tasks on the in-memory workflow engine: its records, resuming parked tasks, and the limits of the store. */
import { Elicitation, Once } from "@effect-mcp/core"
import * as Observer from "@effect-mcp/server/Observer"
import { Journal } from "@effect-mcp/tasks/Journal"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import * as Workflow from "@effect-mcp/tasks/workflow"
import { assert, describe, it } from "@effect/vitest"
import { Context, Data, Effect, Exit, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { DurableDeferred, WorkflowEngine } from "effect/workflow"
import { file } from "../support/sqlite.ts"
import { connect, serve } from "../support/client.ts"
import * as TaskWorkflow from "../../src/workflow/TaskWorkflow.ts"
import { tool } from "../support/tools.ts"

const Ok = Schema.Struct({ ok: Schema.Boolean })
const ask = (key: string) => Elicitation.form(`${key}?`, Ok, { key })
const yes = { action: "accept", content: { ok: true } }
/** The data that a task's row keeps of its request. */
const facts = {
  revision: "2026-07-28",
  capabilities: {},
  id: 1,
  scopes: [],
  claims: {},
  before: { answers: {}, steps: {} }
}
const newTask = { owner: "anonymous", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }

/** A server on a separate engine, and its client. */
const start = Effect.fnUntraced(function* (
  tools: ReadonlyArray<ReturnType<typeof tool>>,
  options: Workflow.WorkflowOptions = {}
) {
  const stores = Layer.provideMerge(Workflow.layer(options), Layer.fresh(WorkflowEngine.layerMemory))
  const context = yield* Layer.build(stores)
  const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(context))
  const client = yield* connect(yield* serve(Layer.mergeAll(tasks, ...tools)))
  // The engine has the workflow once the tools exist.
  yield* TestClock.adjust("1 second")
  const journal = Context.get(context, Journal)
  return {
    client,
    journal,
    store: Context.get(context, TaskStore),
    engine: Context.get(context, WorkflowEngine.WorkflowEngine),
    /** Starts a task that no request created. */
    run: (id: string) => journal.engine!.start(id)
  }
})

class Flaky extends Data.TaggedError("Flaky")<{}> {}

describe("Tasks on the workflow engine", () => {
  it.effect("An engine task asks two questions at once, suspends, and resumes with each answer", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const both = tool("both", "optional", () =>
        Effect.gen(function* () {
          seen.push("start")
          const count = yield* Once.run(
            "count",
            Schema.Int,
            Effect.sync(() => seen.push("step"))
          )
          const [a, b] = yield* Effect.all([ask("a"), ask("b")], { concurrency: 2 })
          return `${count} ${a.ok} ${b.ok}`
        })
      )
      const { client } = yield* start([both])
      const { taskId } = yield* client.call("both")
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(Object.keys((yield* client.get(taskId))["inputRequests"]).toSorted(), ["a", "b"])
      yield* client.update(taskId, { b: yes })
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(Object.keys((yield* client.get(taskId))["inputRequests"]), ["a"])
      yield* client.update(taskId, { a: yes })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* client.get(taskId))["result"].content[0].text, "2 true true")
      assert.deepStrictEqual(seen, ["start", "step", "start", "start"])
    })
  )

  it.effect("An engine task retries a failed step and never repeats a recorded one", () =>
    Effect.gen(function* () {
      let bodies = 0
      const step = Once.run(
        "flaky",
        Schema.Int,
        Effect.suspend(() => (++bodies < 3 ? Effect.fail(new Flaky()) : Effect.succeed(bodies)))
      )
      const flaky = tool("flaky", "optional", () =>
        Effect.gen(function* () {
          const value = yield* Effect.orDie(Effect.retry(step, { times: 5 }))
          yield* ask("sure")
          return String(value)
        })
      )
      const { client } = yield* start([flaky])
      const { taskId } = yield* client.call("flaky")
      yield* TestClock.adjust("45 seconds")
      yield* client.update(taskId, { sure: yes })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* client.get(taskId))["result"].content[0].text, "3")
      assert.strictEqual(bodies, 3)
    })
  )

  it.effect("An engine task fails if a recorded value no longer matches its step's schema", () =>
    Effect.gen(function* () {
      let runs = 0
      const changed = tool("changed", "optional", () =>
        Effect.gen(function* () {
          yield* ++runs === 1
            ? Once.run("value", Schema.String, Effect.succeed("many"))
            : Once.run("value", Schema.Int, Effect.succeed(1))
          yield* ask("sure")
          return "done"
        })
      )
      const { client } = yield* start([changed])
      const { taskId } = yield* client.call("changed")
      yield* TestClock.adjust("45 seconds")
      yield* client.update(taskId, { sure: yes })
      yield* TestClock.adjust("1 second")
      assert.include((yield* client.get(taskId))["error"].message, "Journal mismatch: the recorded value of step value")
    })
  )

  it.effect("An engine task fails if a step returns more than a journal can hold", () =>
    Effect.gen(function* () {
      const long = tool("long", "optional", () => Once.run("text", Schema.String, Effect.succeed("x".repeat(100))))
      const { client } = yield* start([long], { entryBytes: 50 })
      const { taskId } = yield* client.call("long")
      yield* TestClock.adjust("1 second")
      assert.deepInclude((yield* client.get(taskId))["error"], {
        code: -31_429,
        message: "The task's journal is full; step:text was not recorded"
      })
    })
  )

  it.effect("An engine task gets an answer known to the engine even if the store has not recorded it", () =>
    Effect.gen(function* () {
      const sure = tool("sure", "optional", () => Effect.map(ask("sure"), ({ ok }) => String(ok)))
      const { client, engine } = yield* start([sure])
      const { taskId } = yield* client.call("sure")
      yield* TestClock.adjust("1 second")
      const answer = DurableDeferred.make("answer:sure", { success: Schema.String })
      yield* engine.deferredDone(answer, {
        workflowName: "mcp/tasks",
        executionId: String(taskId),
        deferredName: answer.name,
        exit: Exit.succeed(JSON.stringify({ _tag: "Result", result: yes }))
      })
      yield* TestClock.adjust("45 seconds")
      assert.strictEqual((yield* client.get(taskId))["result"].content[0].text, "true")
    })
  )

  it.effect("An engine task fails once its journal has no room for another attempt of a step", () =>
    Effect.gen(function* () {
      let attempts = 0
      const poll = Once.run(
        "poll",
        Schema.Int,
        Effect.andThen(
          Effect.sync(() => ++attempts),
          new Flaky()
        )
      )
      const stuck = tool("stuck", "optional", () => Effect.as(Effect.orDie(Effect.retry(poll, { times: 100 })), ""))
      const { client } = yield* start([stuck], { entries: 5 })
      const { taskId } = yield* client.call("stuck")
      yield* TestClock.adjust("1 second")
      const { error, status } = yield* client.get(taskId)
      assert.deepStrictEqual([status, attempts], ["failed", 5])
      assert.include(error.message, "journal is full")
    })
  )

  it.effect("An engine task is abandoned after ten runs without a record", () =>
    Effect.gen(function* () {
      let runs = 0
      const crash = tool("crash", "optional", () => Effect.sync(() => String(++runs)))
      const { journal, run, store } = yield* start([crash])
      const ended = Effect.fnUntraced(function* (times: number) {
        const { task } = yield* Effect.orDie(store.create({ ...newTask, client: facts, tool: "crash" }, "dead"))
        for (let attempt = 0; attempt < times; attempt++) yield* journal.take("dead", task.id)
        yield* run(task.id)
        yield* TestClock.adjust("1 second")
        const seen = yield* store.get(task.id, "anonymous")
        const outcome = seen._tag === "Some" ? seen.value.outcome : undefined
        return outcome?._tag === "Error" ? outcome.message : outcome?._tag
      })
      assert.strictEqual(yield* ended(9), "Result")
      assert.include(yield* ended(10), "Gave up after 10 attempts")
      assert.strictEqual(runs, 1)
    })
  )

  it.effect("An engine task resets its attempt count once a run has recorded a step", () =>
    Effect.gen(function* () {
      const crash = tool("crash", "optional", () =>
        Effect.andThen(Once.run("step", Schema.Int, Effect.succeed(1)), Effect.never)
      )
      const { journal, run, store } = yield* start([crash])
      const { task } = yield* Effect.orDie(store.create({ ...newTask, client: facts, tool: "crash" }, "dead"))
      for (let attempt = 0; attempt < 3; attempt++) yield* journal.take("dead", task.id)
      yield* run(task.id)
      yield* TestClock.adjust("1 second")
      const taken = yield* journal.take("other", task.id)
      assert.strictEqual(taken._tag === "Some" ? taken.value.attempts : 0, 1)
    })
  )

  it.effect("An engine task whose tool is missing waits for the tool", () =>
    Effect.gen(function* () {
      const other = tool("other", "optional", () => Effect.succeed("no"))
      const { run, store } = yield* start([other])
      const { task } = yield* Effect.orDie(store.create({ ...newTask, tool: "missing" }, "a"))
      yield* run(task.id)
      yield* TestClock.adjust("1 minute")
      const seen = yield* store.get(task.id, "anonymous")
      assert.isUndefined(seen._tag === "Some" ? seen.value.outcome : "forgotten")
      yield* store.cancel(task.id, "anonymous")
      yield* TestClock.adjust("2 seconds")
      const ended = yield* store.get(task.id, "anonymous")
      assert.deepStrictEqual(ended._tag === "Some" ? ended.value.outcome : undefined, { _tag: "Cancelled" })
    })
  )

  it.effect("If a node dies before its engine starts a task, another node runs it", () =>
    Effect.gen(function* () {
      let runs = 0
      const late = tool("late", "optional", () => Effect.sync(() => String(++runs)))
      const { store } = yield* start([late], { store: Sqlite.layer({ file: yield* file, lease: 9000 }) })
      const { task } = yield* Effect.orDie(store.create({ ...newTask, client: facts, tool: "late" }, "dead"))
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual(runs, 0)
      yield* TestClock.adjust("10 seconds")
      const seen = yield* store.get(task.id, "anonymous")
      assert.strictEqual(seen._tag === "Some" ? seen.value.outcome?._tag : undefined, "Result")
      assert.strictEqual(runs, 1)
    })
  )

  it.effect("An engine task is cancelled if the program interrupts its execution", () =>
    Effect.gen(function* () {
      const steps = tool("steps", "optional", () =>
        Effect.gen(function* () {
          yield* Once.run("one", Schema.Int, Effect.succeed(1))
          yield* Effect.sleep("10 seconds")
          yield* Once.run("two", Schema.Int, Effect.succeed(2))
          return "done"
        })
      )
      const { client, engine } = yield* start([steps])
      const { taskId } = yield* client.call("steps")
      yield* TestClock.adjust("5 seconds")
      yield* engine.interrupt(TaskWorkflow.make("mcp/tasks"), String(taskId))
      yield* TestClock.adjust("6 seconds")
      assert.deepInclude(yield* client.get(taskId), {
        status: "cancelled",
        statusMessage: "The workflow execution was interrupted"
      })
    })
  )

  it.effect("An ended engine task is reported to observers with its tool and age", () =>
    Effect.gen(function* () {
      const told: Array<Pick<Observer.TaskEvent, "state" | "tool" | "age">> = []
      const observer = Observer.layer(
        Effect.succeed({ task: ({ age, state, tool }) => void told.push({ state, tool, age }) })
      )
      const slow = tool("slow", "optional", () => Effect.as(Effect.sleep("10 seconds"), "done"))
      const { client } = yield* Effect.provide(start([slow]), observer)
      yield* client.call("slow")
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(told, [
        { state: "created", tool: "slow", age: 0 },
        { state: "completed", tool: "slow", age: 10_000 }
      ])
    })
  )
})
