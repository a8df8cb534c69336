/** The routes of a task are released when its session, its last reader or the task itself ends. */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import * as Revision from "@effect-mcp/protocol/Revision"
import { quiesce } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import type { Destination } from "../../src/server/Destination.ts"
import { Routes } from "../../src/server/Routes.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

const owner = "ada"

/** A store with one task, the task's routes, and a session. */
const make = Effect.gen(function* () {
  const store = Context.get(yield* Layer.build(Memory.layer()), TaskStore)
  const routes = yield* Routes.make(store)
  const { task } = yield* store.create(
    { owner, tool: "wait", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 },
    "node"
  )
  const scope = yield* Scope.make()
  const input = ClientInput.unavailable("No question is asked")
  const wire = { notify: () => {}, ready: Effect.void, isRead: () => true, left: Effect.never }
  const connection: RequestConnection = { ...wire, scope, read: Effect.void, input, rootsChanges: undefined }
  const client = { revision: Revision.latestStateful, capabilities: {} }
  const destination: Destination = { ...wire, input, connection, client }
  const join = Effect.andThen(
    routes.join(task, owner, destination, "token"),
    Effect.sync(() => routes.begin(task.id))
  )
  return { store, routes, task, scope, destination, join }
})

it.effect("A task's routes end with the task", () =>
  Effect.gen(function* () {
    const { join, routes, store, task } = yield* make
    yield* join
    assert.strictEqual(routes.size, 1)
    yield* store.cancel(task.id, owner)
    yield* quiesce
    assert.strictEqual(routes.size, 0)
  })
)

it.effect("A task's routes end with its session if no request waits for the result", () =>
  Effect.gen(function* () {
    const { join, destination, routes, scope, task } = yield* make
    yield* join
    const waiting = yield* Effect.forkChild(routes.during(task, owner, destination, Effect.never), {
      startImmediately: true
    })
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(routes.size, 1)
    yield* Fiber.interrupt(waiting)
    assert.strictEqual(routes.size, 0)
  })
)

it.effect("Routes of a task that ends before they are created are not kept", () =>
  Effect.gen(function* () {
    const { join, routes, store, task } = yield* make
    yield* store.cancel(task.id, owner)
    yield* join
    yield* quiesce
    assert.strictEqual(routes.size, 0)
  })
)

it.effect("Routes of a task that joins an ended session are not kept", () =>
  Effect.gen(function* () {
    const { join, destination, routes, scope, store, task } = yield* make
    yield* join
    yield* Scope.close(scope, Exit.void)
    const { task: late } = yield* store.create(
      { owner, tool: "wait", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 },
      "node"
    )
    yield* routes.join(task, owner, destination)
    yield* routes.join(late, owner, destination)
    assert.strictEqual(routes.size, 0)
  })
)
