import { Resources, Tool, Tools } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import type { PageState } from "../../src/messages/Events.ts"
import type { Options, ViewedCall } from "../../src/session/Options.ts"
import * as Session from "../../src/session/Session.ts"
import { connecting } from "../support/served.ts"
import { until } from "../support/until.ts"

const tea = Resources.layer({ uri: "menu://tea", name: "tea" }, Effect.succeed("Green"), Stream.never)
const Echo = Tool.make("echo", { description: "Says hello" })
const features = Layer.mergeAll(
  tea,
  Tools.layer(Echo, () => Effect.succeed("hello"))
)

const isConnected = ({ connection, lists }: PageState) =>
  connection.status === "connected" && lists.tools?.[0] !== undefined

const opened = Effect.fnUntraced(function* (options: Partial<Options> = {}) {
  const connected = yield* connecting(features)
  const session = yield* Session.make(
    { name: "ours", connect: () => connected, revision: "2025-11-25", ...options },
    "http://127.0.0.1:1"
  )
  yield* until(session, isConnected)
  return session
})

/** Calls the tool, and returns the ID of the run once it has a result. */
const echoed = Effect.fnUntraced(function* (session: Session.UiSession) {
  const { run } = yield* session.perform({ _tag: "Call", tool: "echo", arguments: { a: 1 }, task: false })
  yield* until(session, ({ runs }) => runs.some(({ id, status }) => id === run && status === "done"))
  return Number(run)
})

describe("Session", () => {
  it.effect("A watched resource is no longer watched after the connection has ended", () =>
    Effect.gen(function* () {
      const session = yield* opened()
      yield* session.perform({ _tag: "Watch", uri: "menu://tea", on: true })
      yield* until(session, ({ watched }) => watched[0]?.contents !== undefined)
      yield* session.perform({ _tag: "Disconnect" })
      assert.deepStrictEqual(session.board.state.watched, [])
      yield* session.perform({ _tag: "Connect", revision: "2025-11-25" })
      yield* until(session, isConnected)
      yield* session.perform({ _tag: "Watch", uri: "menu://tea", on: true })
      yield* until(session, ({ watched }) => watched[0]?.contents !== undefined)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("A subscription that failed can be removed", () =>
    Effect.gen(function* () {
      const session = yield* opened()
      yield* session.perform({ _tag: "Watch", uri: "menu://none", on: true })
      yield* until(session, ({ watched }) => watched[0]?.error !== undefined)
      yield* session.perform({ _tag: "Refresh" })
      yield* session.perform({ _tag: "Watch", uri: "menu://none", on: false })
      assert.deepStrictEqual(session.board.state.watched, [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("A page that leaves while it reconnects does not stop the new connection", () =>
    Effect.gen(function* () {
      const connected = yield* connecting(features)
      const closing = yield* Deferred.make<void>()
      const free = yield* Deferred.make<void>()
      const session = yield* opened({
        connect: () =>
          Effect.andThen(
            Effect.addFinalizer(() => Effect.andThen(Deferred.succeed(closing, undefined), Deferred.await(free))),
            connected
          )
      })
      const page = yield* Effect.forkChild(session.perform({ _tag: "Connect", revision: null }))
      yield* Deferred.await(closing)
      const left = yield* Effect.forkChild(Fiber.interrupt(page), { startImmediately: true })
      yield* Deferred.succeed(free, undefined)
      yield* Fiber.join(left)
      yield* until(session, ({ connection }) => connection.status === "connected" && connection.wanted === null)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("A function for views that throws costs only its command", () =>
    Effect.gen(function* () {
      const session = yield* opened({
        view: () => {
          throw new Error("no port")
        }
      })
      const run = yield* echoed(session)
      const { message } = yield* Effect.flip(session.perform({ _tag: "View", run }))
      assert.include(message, "no port")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("A view shows the arguments and the result of its run", () =>
    Effect.gen(function* () {
      const calls: Array<ViewedCall> = []
      const session = yield* opened({ view: (_, call) => Effect.sync(() => `http://127.0.0.1/${calls.push(call)}`) })
      const run = yield* echoed(session)
      assert.deepStrictEqual(yield* session.perform({ _tag: "View", run }), { url: "http://127.0.0.1/1" })
      const { result } = session.board.state.runs[0] ?? {}
      const call = { tool: "echo", arguments: { a: 1 }, result, embedder: "http://127.0.0.1:1" }
      assert.deepStrictEqual<ReadonlyArray<unknown>>(calls, [call])
      const { message } = yield* Effect.flip(session.perform({ _tag: "View", run: 2 }))
      assert.strictEqual(message, "Run 2 has no result that a view could show")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("Views are closed when there are too many, and with their connection", () =>
    Effect.gen(function* () {
      let open = 0
      const session = yield* opened({
        view: () =>
          Effect.acquireRelease(
            Effect.sync(() => `http://127.0.0.1/${++open}`),
            () => Effect.sync(() => void open--)
          )
      })
      const view = session.perform({ _tag: "View", run: yield* echoed(session) })
      for (let at = 0; at < 20; at++) yield* view
      assert.strictEqual(open, 8)
      yield* session.perform({ _tag: "Disconnect" })
      assert.strictEqual(open, 0)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("An argument named __proto__ reaches the server", () =>
    Effect.gen(function* () {
      const session = yield* opened()
      const args: { readonly [name: string]: unknown } = JSON.parse('{"__proto__":{"a":1}}')
      yield* session.perform({ _tag: "Call", tool: "echo", arguments: args, task: false })
      yield* until(session, ({ runs }) => runs[0]?.status === "done")
      assert.isTrue(session.board.state.wire.some(({ text }) => text.includes('"arguments":{"__proto__":{"a":1}}')))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("A task of the server can be found, followed and cancelled", () =>
    Effect.gen(function* () {
      const Report = Tool.make("report", { description: "Writes a report", task: "required" })
      const connected = yield* connecting(
        Layer.mergeAll(
          Tools.layer(Report, () => Effect.never),
          Tasks.layer()
        )
      )
      const session = yield* opened({ connect: () => connected })
      yield* session.perform({ _tag: "Call", tool: "report", arguments: {}, task: true })
      yield* until(session, ({ runs }) => runs[0]?.tasks[0]?.status === "working")
      const id = session.board.state.runs[0]?.tasks[0]?.id ?? assert.fail("no task")
      const { tasks } = yield* session.perform({ _tag: "Tasks" })
      assert.deepStrictEqual(Array.isArray(tasks) ? tasks.map((task) => [task.id, task.status]) : [], [[id, "working"]])
      const { run } = yield* session.perform({ _tag: "Follow", task: id })
      yield* until(session, ({ runs }) => runs[1]?.tasks[0]?.status === "working")
      yield* session.perform({ _tag: "Cancel", run: Number(run) })
      yield* until(session, ({ runs }) => runs.every(({ status }) => status === "cancelled"))
      assert.deepInclude(session.board.state.runs[1], { kind: "task", name: id })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("Calls end with their connection", () =>
    Effect.gen(function* () {
      const never = Tools.layer(Echo, () => Effect.never)
      const connected = yield* connecting(never)
      const session = yield* opened({ connect: () => connected })
      yield* session.perform({ _tag: "Call", tool: "echo", arguments: {}, task: false })
      yield* session.perform({ _tag: "Disconnect" })
      yield* until(session, ({ runs }) => runs[0]?.status === "failed")
      assert.strictEqual(session.board.state.runs[0]?.error?.tag, "Closed")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
