/** Calls in the background, and tasks of earlier calls. */
import { CapabilityMissing, Closed, TaskCancelled } from "@effect-mcp/client/ClientError"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Tool from "@effect-mcp/core/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Option, References, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { collect, connected, quiesce, until } from "../support/connected.ts"
import { fork } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"
import { answer, created, ended, generations, serving, state, sum } from "../support/tasks.ts"

const Add = Tool.make("add", { description: "Adds", input: { a: Schema.Int }, output: { sum: Schema.Int } })

describe.each(generations)("Background calls in %s", (version) => {
  const working = ["working", { statusMessage: "half" }] as const
  const completed = ["completed", { result: sum }] as const

  it.effect("A background call has an id, states and a result", () =>
    Effect.gen(function* () {
      const { client } = yield* serving({ version, support: "optional", states: [["working"], working, completed] })
      const call = yield* client.start(Add, { a: 1 })
      assert.strictEqual(call.id, "t1")
      const states = yield* fork(collect(call.states))
      assert.deepStrictEqual(yield* ended(yield* fork(call.result)), { sum: 3 })
      assert.deepStrictEqual(
        (yield* Fiber.join(states)).map(({ message, status }) => [status, message]),
        [
          ["working", undefined],
          ["working", undefined],
          ["working", "half"],
          ["completed", undefined]
        ]
      )
      // The last state is still known afterwards, and the result remains.
      assert.deepStrictEqual(
        (yield* collect(call.states)).map(({ status }) => status),
        ["completed"]
      )
      assert.deepStrictEqual(yield* call.result, { sum: 3 })
      yield* call.cancel
      yield* call.detach
      assert.deepStrictEqual(yield* call.result, { sum: 3 })
      const named = yield* client.startByName("add", { a: 1 })
      assert.deepStrictEqual((yield* ended(yield* fork(named.result))).structuredContent, { sum: 3 })
    })
  )

  it.effect(
    "A background call is logged when it becomes a task and when the task ends",
    () => {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => void said.push(String(message)))
      return Effect.gen(function* () {
        const { client } = yield* serving({ version, states: [completed] })
        const call = yield* client.start(Add, { a: 1 })
        assert.strictEqual(call.id, "t1")
        yield* ended(yield* fork(call.result))
        assert.deepStrictEqual(
          said.filter((text) => text.includes(call.id ?? "")),
          ["Following the task t1", "Stopped following the task t1: Success"]
        )
      }).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "All"))
    },
    version === "2025-11-25" ? verifies("tasks.audit.requestor", "tasks.audit.ids-tracked") : {}
  )

  it.effect("A background call that becomes no task has a result but no id", () =>
    Effect.gen(function* () {
      const inline = yield* serving({ version, answers: { "tools/call": () => answer(version, sum) } })
      const call = yield* inline.client.start(Add, { a: 1 })
      assert.isUndefined(call.id)
      assert.deepStrictEqual(yield* call.result, { sum: 3 })
      assert.deepStrictEqual(yield* collect(call.states), [])
      yield* call.cancel
      assert.notInclude(Modern.methods(inline.server), "tasks/cancel")
      const refusing = yield* serving({ version, answers: { "tools/call": () => McpError.invalidParams("No") } })
      assert.propertyVal(yield* Effect.flip(refusing.client.start(Add, { a: 1 })), "message", "No")
    })
  )

  it.effect(
    "A background call is cancelled only on explicit request",
    () =>
      Effect.gen(function* () {
        let status = "working"
        const { client, server } = yield* serving({
          version,
          answers: {
            "tasks/get": () => answer(version, state(version, status)),
            "tasks/cancel": () => {
              status = "cancelled"
              return answer(version, version === "2025-11-25" ? state(version, status) : {})
            }
          }
        })
        const call = yield* client.start(Add, { a: 1 })
        const waiting = yield* fork(call.result)
        yield* quiesce
        yield* Fiber.interrupt(waiting)
        yield* quiesce
        assert.notInclude(Modern.methods(server), "tasks/cancel")
        yield* call.cancel
        const error = yield* ended(yield* fork(Effect.flip(call.result)))
        assert.instanceOf(error, TaskCancelled)
        yield* call.cancel
        assert.lengthOf(server.requests("tasks/cancel"), 1)
        if (version === "2025-11-25") assert.notInclude(Modern.methods(server), "tasks/get")
      }),
    version === "2025-11-25" ? verifies("tasks.cancel.not-retained") : {}
  )

  it.effect("A background call that nobody follows is left to the server", () =>
    Effect.gen(function* () {
      const { client, server } = yield* serving({ version, states: [["input_required"]] })
      const call = yield* client.start(Add, { a: 1 }, { follow: false })
      assert.strictEqual(call.id, "t1")
      assert.instanceOf(yield* Effect.flip(call.result), Closed)
      yield* TestClock.adjust("1 minute")
      yield* quiesce
      assert.deepStrictEqual(
        Modern.methods(server).filter((method) => method.startsWith("tasks/") || method.startsWith("subscriptions/")),
        []
      )
    })
  )

  it.effect("A background call is left to the server when detached or when its client closes", () =>
    Effect.gen(function* () {
      const { client, server } = yield* serving({ version, states: [working] })
      const call = yield* client.start(Add, { a: 1 })
      yield* call.detach
      assert.instanceOf(yield* Effect.flip(call.result), Closed)
      const scope = yield* Scope.make()
      const other = yield* Scope.provide(serving({ version, states: [working] }), scope)
      const left = yield* other.client.start(Add, { a: 1 })
      yield* Scope.close(scope, Exit.void)
      assert.instanceOf(yield* Effect.flip(left.result), Closed)
      for (const { heard } of [server, other.server]) {
        assert.notInclude(
          heard.map((message) => ("method" in message ? message.method : "")),
          "tasks/cancel"
        )
      }
    })
  )

  it.effect(
    "Interrupting a background call before its answer cancels the request or task",
    () =>
      Effect.gen(function* () {
        const open = yield* Deferred.make<void>()
        const { client, server } = yield* serving({
          version,
          answers: { "tools/call": () => Effect.as(Deferred.await(open), created(version)) }
        })
        const starting = yield* fork(client.start(Add, { a: 1 }))
        const calling = yield* fork(client.callTool(Add, { a: 1 }))
        yield* quiesce
        starting.interruptUnsafe()
        calling.interruptUnsafe()
        yield* quiesce
        if (version === Modern.version) {
          assert.strictEqual(Modern.methods(server).filter((method) => method === "notifications/cancelled").length, 2)
          return
        }
        yield* Deferred.succeed(open, undefined)
        yield* Fiber.await(starting)
        yield* Fiber.await(calling)
        assert.lengthOf(server.requests("tasks/cancel"), 2)
        assert.notInclude(Modern.methods(server), "notifications/cancelled")
      }),
    version === "2025-11-25" ? verifies("tasks.cancel.not-by-notification") : {}
  )

  it.effect("A task created for a cancelled call is cancelled", () =>
    Effect.gen(function* () {
      if (version !== Modern.version) return
      const { client, server } = yield* serving({ version, answers: { "tools/call": () => Effect.never } })
      const calling = yield* fork(client.callTool(Add, { a: 1 }))
      const timed = yield* fork(Effect.flip(client.callTool(Add, { a: 1 }, { timeout: "1 second" })))
      yield* quiesce
      yield* Fiber.interrupt(calling)
      yield* TestClock.adjust("1 second")
      assert.propertyVal(yield* Fiber.join(timed), "_tag", "Timeout")
      const late = () => {
        for (const { id } of server.requests("tools/call")) {
          server.send({ jsonrpc: "2.0", id, result: { ...created(version), taskId: `t${id}` } })
        }
      }
      late()
      yield* quiesce
      const cancelled = server.requests("tools/call").map(({ id }) => `t${id}`)
      assert.lengthOf(cancelled, 2)
      assert.deepStrictEqual(
        server.requests("tasks/cancel").map(({ params }) => params?.["taskId"]),
        cancelled
      )
      // Only once.
      late()
      yield* quiesce
      assert.lengthOf(server.requests("tasks/cancel"), 2)
    })
  )

  it.effect("Interrupting a background call while it is being sent cancels it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* serving({ version, support: "optional", states: [working] })
      const starting: Fiber.Fiber<unknown, unknown> = yield* Effect.forkChild(
        Effect.withFiber((fiber) => client.start(Add, { a: 1 }, { onSend: () => fiber.interruptUnsafe() }))
      )
      yield* quiesce
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(starting)))
      const [call] = server.requests("tools/call")
      const cancels = server.heard.filter(
        (message) =>
          "method" in message &&
          (message.method === "tasks/cancel" ||
            (message.method === "notifications/cancelled" && message.params?.["requestId"] === call?.id))
      )
      assert.isNotEmpty(cancels)
    })
  )

  it.effect("A background call can be resumed by its id, even from another client", () =>
    Effect.gen(function* () {
      const { client, server } = yield* serving({ version, states: [working, completed] })
      const found = yield* client.task(Add, "t1")
      assert.strictEqual(found.id, "t1")
      assert.propertyVal(Option.getOrThrow(yield* Stream.runHead(found.states)), "message", "half")
      assert.deepStrictEqual(yield* ended(yield* fork(found.result)), { sum: 3 })
      const untyped = yield* client.taskById("t1")
      assert.deepStrictEqual((yield* ended(yield* fork(untyped.result))).structuredContent, { sum: 3 })
      assert.notInclude(Modern.methods(server), "tools/call")
      const unknown = yield* serving({
        version,
        answers: { "tasks/get": () => McpError.invalidParams("Unknown task") }
      })
      assert.propertyVal(yield* Effect.flip(unknown.client.task(Add, "t2")), "message", "Unknown task")
      const without = yield* serving({ version, capabilities: { tools: {} } })
      assert.instanceOf(yield* Effect.flip(without.client.taskById("t1")), CapabilityMissing)
    })
  )

  it.effect("A background call answers questions even if nobody waits for its result", () => {
    const asked: Array<string> = []
    const user = Elicitation.layer({
      form: ({ message }) => Effect.sync(() => (asked.push(message), { action: "accept" as const, content: {} }))
    })
    return Effect.gen(function* () {
      const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } }
      const inputRequests = { a: { method: "elicitation/create", params: form } }
      const { client, server } = yield* serving({
        version,
        states: [["input_required", { inputRequests }]],
        answers: {
          "tasks/result": (_params, { peer, request }) =>
            Effect.as(Effect.orDie(peer.request("elicitation/create", form, { relatedTo: request.id })), sum)
        }
      })
      yield* client.start(Add, { a: 1 })
      yield* quiesce
      yield* TestClock.adjust(500)
      yield* quiesce
      assert.deepStrictEqual(asked, ["Sure?"])
      if (version === Modern.version) assert.lengthOf(server.requests("tasks/update"), 1)
    }).pipe(Effect.provide(user))
  })
})

describe("Background calls in 2025-11-25", () => {
  const version = "2025-11-25"

  it.effect("A background call requests a task only if the tool allows tasks", () =>
    Effect.gen(function* () {
      for (const [support, task] of [
        ["optional", { ttl: 60_000 }],
        ["required", { ttl: 60_000 }],
        ["forbidden", undefined]
      ] as const) {
        const { client, server } = yield* serving({
          version,
          support,
          ...(task ? {} : { answers: { "tools/call": () => Effect.succeed(sum) } })
        })
        yield* client.startByName("add", {}, { ttl: "1 minute" })
        assert.deepStrictEqual(
          server.requests("tools/call").map(({ params }) => params?.["task"]),
          [task]
        )
      }
    })
  )

  it.effect(
    "A background call appears in the task list, whose cursors are opaque",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* serving({
          version,
          answers: {
            "tasks/list": ({ cursor }) => ({
              tasks: [state(version, "working", { taskId: cursor === undefined ? "t1" : "t2" })],
              ...(cursor === undefined ? { nextCursor: " ☃ " } : {})
            })
          }
        })
        assert.deepStrictEqual(
          (yield* collect(client.listTasks)).map(({ id }) => id),
          ["t1", "t2"]
        )
        assert.deepStrictEqual(
          server.requests("tasks/list").map(({ params }) => params?.["cursor"]),
          [undefined, " ☃ "]
        )
      }),
    verifies("tasks.list.cursor-opaque")
  )

  it.effect("A background call is not cancelled if the server did not declare cancellation", () =>
    Effect.gen(function* () {
      const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } }
      const { client, server } = yield* serving({ version, capabilities, states: [["working"]] })
      const call = yield* client.start(Add, { a: 1 })
      assert.deepInclude(yield* Effect.flip(call.cancel), { _tag: "CapabilityMissing", capability: "tasks.cancel" })
      assert.deepInclude(yield* Effect.flip(collect(client.listTasks)), { capability: "tasks.list" })
      const interrupted = yield* fork(client.callTool(Add, { a: 1 }))
      yield* quiesce
      yield* Fiber.interrupt(interrupted)
      assert.notInclude(Modern.methods(server), "tasks/cancel")
    })
  )
})

describe.each(until("2025-06-18"))("%s clients", (version) => {
  it.effect("A client without tasks runs a background call like any other", () =>
    Effect.gen(function* () {
      const { client } = yield* connected({ version, answers: { "tools/call": () => sum } }, { revisions: [version] })
      const call = yield* client.startByName("add")
      assert.isUndefined(call.id)
      assert.lengthOf((yield* call.result).content, 1)
      assert.instanceOf(yield* Effect.flip(client.taskById("t1")), CapabilityMissing)
      assert.instanceOf(yield* Effect.flip(collect(client.listTasks)), CapabilityMissing)
    })
  )
})

it.effect("2026-07-28 tasks are not listed", () =>
  Effect.gen(function* () {
    const { client } = yield* serving({ version: Modern.version })
    assert.instanceOf(yield* Effect.flip(collect(client.listTasks)), CapabilityMissing)
  })
)
