/** Which of several routes a question of a task takes, depending on the declarations of each session. */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Latch, Option } from "effect"
import * as Stream from "effect/Stream"
import type { Question } from "../../src/model/Task.ts"
import type { Destination } from "../../src/server/Destination.ts"
import { Routes } from "../../src/server/Routes.ts"
import { Journal } from "../../src/store/Journal.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

const owner = "ada"
const roots: Question = { method: "roots/list", params: {} }
const form: Question = {
  method: "elicitation/create",
  params: { message: "Your name?", requestedSchema: { type: "object", properties: {} } }
}

/** A store with one running task, and the routes of the task. */
const make = Effect.gen(function* () {
  const context = yield* Layer.build(Memory.layer())
  const store = Context.get(context, TaskStore)
  const journal = Context.get(context, Journal)
  const routes = yield* Routes.make(store)
  const { lease, task } = yield* store.create(
    { owner, tool: "ask", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 },
    "node"
  )
  const ask = (key: string, question: Question) => journal.record(lease, { _tag: "Question", key, question })
  const waiting = (destination: Destination) =>
    Effect.forkChild(routes.during(task, owner, destination, Effect.never), { startImmediately: true })
  const now = Effect.map(store.get(task.id, owner), Option.getOrThrow)
  const answer = (key: string, result: JsonObject) =>
    store.answer(task.id, owner, { [key]: { _tag: "Result", result } })
  return { store, routes, task, now, ask, answer, waiting }
})

/** A session and the methods it was asked; its questions stay open. `hangUp` makes its client stop reading. */
const sessionOf = Effect.fnUntraced(function* (capabilities: ClientCapabilities) {
  const asked: Array<string> = []
  const left = yield* Latch.make()
  let isRead = true
  const scope = yield* Effect.scope
  const input = {
    ...ClientInput.unavailable("Questions of tasks alone are asked"),
    askExtension: ({ method }: ClientInput.ExtensionQuestion<unknown>) => {
      asked.push(method)
      return Effect.never
    }
  }
  const wire = { notify: () => {}, ready: Effect.void, isRead: () => isRead, left: left.await }
  let waits = 0
  const read = Effect.suspend(() => {
    // A wait that ended at once again and again would never let the test fail.
    return isRead && waits++ < 1000 ? Effect.void : Effect.never
  })
  const connection: RequestConnection = { ...wire, scope, read, input, rootsChanges: undefined }
  const client = { revision: Revision.latestStateful, capabilities }
  const destination: Destination = { ...wire, input, connection, client }
  const hangUp = Effect.suspend(() => {
    isRead = false
    return left.open
  })
  return { asked, hangUp, destination, waits: () => waits }
})

it.effect("A question is not repeated if its client may resume", () =>
  Effect.gen(function* () {
    const { ask, waiting } = yield* make
    const able = yield* sessionOf({ elicitation: {} })
    const mute = yield* sessionOf({ roots: {} })
    yield* waiting(able.destination)
    yield* waiting(mute.destination)
    yield* ask("name", form)
    yield* quiesce
    yield* able.hangUp
    yield* quiesce
    assert.deepStrictEqual(able.asked, ["elicitation/create"])
    assert.deepStrictEqual(mute.asked, [])
  })
)

it.effect(
  "A task's question goes to a session that declared the needed capability",
  () =>
    Effect.gen(function* () {
      const { ask, routes, task, waiting } = yield* make
      const stream = yield* sessionOf({ roots: {} })
      const request = yield* sessionOf({ elicitation: {} })
      yield* routes.join(task, owner, stream.destination)
      yield* waiting(request.destination)
      yield* ask("roots", roots)
      yield* ask("name", form)
      yield* quiesce
      assert.deepStrictEqual(stream.asked, ["roots/list"])
      assert.deepStrictEqual(request.asked, ["elicitation/create"])
      yield* request.hangUp
      yield* quiesce
      assert.deepStrictEqual(stream.asked, ["roots/list"])
    }),
  verifies("lifecycle.operation.capabilities-respected")
)

it.effect("A question waits if the only open stream belongs to a session that cannot answer it", () =>
  Effect.gen(function* () {
    const { ask, routes, store, task, waiting } = yield* make
    const mute = yield* sessionOf({ roots: {} })
    yield* routes.join(task, owner, mute.destination)
    routes.begin(task.id)
    yield* ask("name", form)
    yield* quiesce
    assert.deepStrictEqual(mute.asked, [])
    // A stream that is already read is not a new route.
    assert.strictEqual(mute.waits(), 0)
    const able = yield* sessionOf({ elicitation: {} })
    yield* waiting(able.destination)
    yield* quiesce
    assert.deepStrictEqual(able.asked, ["elicitation/create"])
    yield* store.cancel(task.id, owner)
    yield* Stream.runDrain(store.changes(task.id, owner))
    assert.strictEqual(routes.size, 0)
  })
)

it.effect("A session that can be asked replaces one that only reads", () =>
  Effect.gen(function* () {
    const { answer, ask, now, routes, task } = yield* make
    const first = yield* sessionOf({ roots: {} })
    const second = yield* sessionOf({ elicitation: {} })
    yield* routes.join(task, owner, first.destination)
    routes.begin(task.id)
    yield* ask("roots", roots)
    yield* quiesce
    yield* routes.join(yield* now, owner, second.destination)
    yield* ask("name", form)
    yield* quiesce
    assert.deepStrictEqual(second.asked, [])
    yield* answer("roots", { roots: [] })
    yield* routes.join(yield* now, owner, second.destination)
    yield* quiesce
    assert.deepStrictEqual(first.asked, ["roots/list"])
    assert.deepStrictEqual(second.asked, ["elicitation/create"])
    yield* routes.join(yield* now, owner, first.destination)
    yield* quiesce
    assert.deepStrictEqual(first.asked, ["roots/list"])
  })
)

it.effect("A ping from a task is sent even to a session without capabilities", () =>
  Effect.gen(function* () {
    const { ask, waiting } = yield* make
    const mute = yield* sessionOf({})
    yield* waiting(mute.destination)
    yield* ask("ping", { method: "ping", params: {} })
    yield* quiesce
    assert.deepStrictEqual(mute.asked, ["ping"])
  })
)
