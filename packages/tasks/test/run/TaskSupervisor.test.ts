import * as CancelReason from "@effect-mcp/core/CancelReason"
import { McpError, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import type { Observer } from "@effect-mcp/server/Observer"
import { Deferred, Effect, Exit, Fiber, Logger, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Task } from "../../src/model/Task.ts"
import * as TaskSupervisor from "../../src/run/TaskSupervisor.ts"
import { Journal } from "../../src/store/Journal.ts"
import * as Memory from "../../src/store/memory.ts"
import { RunActivity } from "../../src/run/RunActivity.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

const input = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }

const facts = {
  clientCapabilities: {},
  clientInfo: undefined,
  id: 1,
  meta: {},
  method: "tools/call",
  revision: Revision.latestStateful,
  sessionId: undefined,
  principal: { subject: undefined, scopes: [], claims: {} }
}

const attempt = (handler: Effect.Effect<{ readonly [key: string]: unknown }, McpError.McpError>) => {
  const client = { facts, before: { answers: {}, steps: {} }, trace: undefined }
  const about = { tool: "tool", owner: "ada", createdAt: 0, attempt: 1, client }
  return { handler, activity: new RunActivity(), canPark: true, about }
}

/** A task whose handler runs under a supervisor in a separate scope. */
const start = Effect.fnUntraced(function* (
  handler: Effect.Effect<{ readonly [key: string]: unknown }, McpError.McpError>,
  observer?: Observer
) {
  const store = yield* TaskStore
  const scope = yield* Scope.make()
  const supervisor = yield* Scope.provide(TaskSupervisor.make({ drain: 10_000, observer, changed: () => {} }), scope)
  const { lease, task } = yield* store.create(input, supervisor.node)
  const fiber = yield* supervisor.run(lease, attempt(handler))
  const seen = Effect.map(store.get(task.id, "ada"), Option.getOrThrow)
  return { fiber, lease, scope, seen, store, supervisor, task }
})

/** A handler that waits until it is interrupted, and the reason that its finalizer saw. */
const waiting = Effect.map(Deferred.make<string | undefined>(), (reason) => ({
  reason: Deferred.await(reason),
  handler: Effect.onExit(Effect.never, (exit) =>
    Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "no interruption")
  )
}))

const outcome = ({ outcome }: Task) => outcome

describe("Supervised tasks", () => {
  it.effect("A task ends with its handler's result and leaves the supervisor", () =>
    Effect.gen(function* () {
      const { fiber, seen, supervisor } = yield* start(Effect.succeed({ content: [] }))
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(outcome(yield* seen), { _tag: "Result", result: { content: [] } })
      assert.deepStrictEqual(supervisor.running(), [])
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task ends with its handler's error, or with a bare -32603 on a defect", () =>
    Effect.gen(function* () {
      const failed = yield* start(Effect.fail(McpError.invalidParams("No such city")))
      yield* Fiber.await(failed.fiber)
      assert.deepStrictEqual(outcome(yield* failed.seen), { _tag: "Error", code: -32602, message: "No such city" })
      const died = yield* start(Effect.die(new Error("secret")))
      yield* Fiber.await(died.fiber)
      assert.deepStrictEqual(outcome(yield* died.seen), { _tag: "Error", code: -32603, message: "Internal error" })
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task ends even if a logger throws on its handler's defect", () =>
    Effect.gen(function* () {
      const logger = Logger.make(() => {
        throw new Error("No room")
      })
      const { fiber, seen } = yield* Effect.provide(start(Effect.die(new Error("secret"))), Logger.layer([logger]))
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(outcome(yield* seen), { _tag: "Error", code: -32603, message: "Internal error" })
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task keeps its handler's result even if a run observer throws", () =>
    Effect.gen(function* () {
      const taskRun = () => {
        throw new Error("No connection")
      }
      const { fiber, seen } = yield* start(Effect.succeed({ content: [] }), { taskRun })
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(outcome(yield* seen), { _tag: "Result", result: { content: [] } })
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A cancelled task is interrupted with the cancellation reason and stays cancelled", () =>
    Effect.gen(function* () {
      const { handler, reason } = yield* waiting
      const { fiber, seen, store, task } = yield* start(handler)
      yield* store.cancel(task.id, "ada")
      assert.strictEqual(yield* reason, "The task was cancelled")
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(outcome(yield* seen), { _tag: "Cancelled" })
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task past its time to live is interrupted by the next sweep", () =>
    Effect.gen(function* () {
      const { handler, reason } = yield* waiting
      const { fiber, seen } = yield* start(handler)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* reason, "The task did not finish within its time to live (ttl)")
      yield* Fiber.await(fiber)
      assert.strictEqual((yield* seen).outcome?._tag, "Error")
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A server shutdown interrupts its task, and another node continues it at once", () =>
    Effect.gen(function* () {
      const { handler, reason } = yield* waiting
      const { lease, scope, seen } = yield* start(handler)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* reason, "The server is shutting down")
      assert.isUndefined((yield* seen).outcome)
      const journal = yield* Journal
      const [claimed] = yield* journal.claim("other", ["tool"], 1)
      assert.strictEqual(claimed?.lease.task, lease.task)
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A running task keeps its lease until another node takes it over", () =>
    Effect.gen(function* () {
      const { handler, reason } = yield* waiting
      const journal = yield* Journal
      const kept = yield* start(Effect.never)
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* journal.claim("other", ["tool"], 1), [])
      yield* Scope.close(kept.scope, Exit.void)
      yield* kept.store.cancel(kept.task.id, "ada")
      const frozen = { ...journal, renew: () => Effect.succeed([]) }
      const { fiber, seen } = yield* Effect.provideService(start(handler), Journal, frozen)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* journal.claim("other", ["tool"], 1)).length, 1)
      assert.strictEqual(yield* reason, "Another node took over the task")
      yield* Fiber.await(fiber)
      assert.isUndefined((yield* seen).outcome)
    }).pipe(Effect.provide(Memory.layer()))
  )

  it.effect("A task writes at most its latest message, once per second", () =>
    Effect.gen(function* () {
      const { lease, seen, supervisor } = yield* start(Effect.never)
      const written: Array<string | undefined> = []
      const note = Effect.map(seen, ({ message }) => written.push(message))
      supervisor.progress(lease, { progress: 1, message: "one" })
      yield* TestClock.adjust(1)
      yield* note
      supervisor.progress(lease, { progress: 2, message: "two" })
      supervisor.progress(lease, { progress: 3, message: "three" })
      yield* TestClock.adjust(500)
      yield* note
      yield* TestClock.adjust(500)
      yield* note
      assert.deepStrictEqual(written, ["one", "one", "three"])
    }).pipe(Effect.provide(Memory.layer()))
  )
})
