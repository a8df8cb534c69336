/** The methods of 2025-11-25: the form of a task, its result, the list, cancellation, and its owner. */
import { Progress, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import { serve } from "../support/client.ts"
import { connect, inMemory, overHttp, transports } from "../support/session.ts"
import { tool } from "../support/tools.ts"

const related = "io.modelcontextprotocol/related-task"
const withTasks = (features: Parameters<typeof serve>[0], options?: Parameters<typeof Tasks.layer>[0]) =>
  Layer.merge(features, Tasks.layer(options))
const hello = tool("hello", "optional", () => Effect.succeed("Hello"))
const wait = tool("wait", "optional", () => Effect.never)
const broken = tool("broken", "optional", () => new Tools.ToolFailure({ message: "The disk is full" }))
const refusing = tool("refusing", "optional", () => McpError.forbidden("Not for you"))
const principal = (subject: string, iss = "https://a.example") => ({ subject, scopes: [], claims: { iss } })

/** A tool that ends when the test says so. */
const gated = (name: string) =>
  Effect.map(Deferred.make<string>(), (gate) => ({
    layer: tool(name, "optional", () => Deferred.await(gate)),
    end: Deferred.succeed(gate, "Done")
  }))

for (const { name, open } of transports) {
  describe(`2025-11-25 tasks ${name}`, () => {
    it.effect(
      "A call is answered immediately with its task, which tasks/get can read",
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(wait))
          const { task, ...rest } = yield* client.request("tools/call", { name: "wait", arguments: {}, task: {} })
          assert.deepStrictEqual(rest, {})
          const { createdAt, lastUpdatedAt, taskId, ...others } = task
          assert.deepStrictEqual(others, { status: "working", ttl: 86_400_000, pollInterval: 1000 })
          for (const time of [createdAt, lastUpdatedAt]) assert.strictEqual(new Date(time).toISOString(), time)
          assert.deepStrictEqual(yield* client.get(taskId), task)
        }),
      verifies(
        "tasks.create.result",
        "tasks.status.starts-working",
        "tasks.fields.created-at",
        "tasks.fields.last-updated-at",
        "tasks.fields.ttl",
        "tasks.related.not-in-results",
        "tasks.id.by-receiver"
      )
    )

    it.effect(
      "A task's result equals the result of a plain call and names the task",
      () =>
        Effect.gen(function* () {
          const meta = tool("meta", "optional", () =>
            Effect.succeed({ content: [{ type: "text", text: "Hi" }], _meta: { "com.example/seen": 1 } })
          )
          const client = yield* open(withTasks(Layer.mergeAll(hello, broken, meta)))
          for (const name of ["hello", "broken", "meta"]) {
            const inline = yield* client.request("tools/call", { name, arguments: {} })
            const { taskId } = yield* client.start(name)
            const result = yield* client.result(taskId)
            assert.deepStrictEqual(result, { ...inline, _meta: { ...inline["_meta"], [related]: { taskId } } }, name)
            assert.deepStrictEqual(yield* client.result(taskId), result)
          }
        }),
      verifies(
        "tasks.result.exact",
        "tasks.result.terminal",
        "tasks.result.same-response",
        "tasks.related.in-result",
        "tasks.related.key"
      )
    )

    it.effect(
      "A task fails with the same JSON-RPC error as a plain call",
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(refusing))
          const inline = yield* client.refused("tools/call", { name: "refusing" })
          const { taskId } = yield* client.start("refusing")
          const { code, data, message } = yield* client.refused("tasks/result", { taskId })
          assert.deepStrictEqual([code, message, data], [inline.code, inline.message, inline.data])
          assert.deepInclude(yield* client.get(taskId), { status: "failed", statusMessage: "Not for you" })
        }),
      verifies("tasks.failed.same-error", "tasks.result.exact", "tasks.failed.status-message")
    )

    it.effect(
      "A task whose tool reports a failure is failed, with the tool's text as message",
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(broken))
          const { taskId } = yield* client.start("broken")
          assert.strictEqual((yield* client.result(taskId))["isError"], true)
          assert.deepInclude(yield* client.get(taskId), { status: "failed", statusMessage: "The disk is full" })
        }),
      verifies("tasks.failed.status-message")
    )

    it.effect(
      "tasks/result waits until the task has ended",
      () =>
        Effect.gen(function* () {
          const { end, layer } = yield* gated("gated")
          const client = yield* open(withTasks(layer))
          const { taskId } = yield* client.start("gated")
          const result = yield* Effect.forkChild(client.result(taskId), { startImmediately: true })
          yield* quiesce
          assert.isUndefined(result.pollUnsafe())
          assert.strictEqual((yield* client.get(taskId))["status"], "working")
          yield* end
          assert.strictEqual((yield* Fiber.join(result))["content"][0].text, "Done")
          assert.strictEqual((yield* client.get(taskId))["status"], "completed")
        }),
      verifies("tasks.result.blocks", "tasks.status.transitions")
    )

    it.effect(
      "tasks/cancel stops the task before it is answered, and then fails with -32602",
      () =>
        Effect.gen(function* () {
          let stopped = false
          const late = tool("late", "optional", () =>
            Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (stopped = true)))
          )
          const client = yield* open(withTasks(Layer.merge(late, hello)))
          const { taskId } = yield* client.start("late")
          const waiting = yield* Effect.forkChild(client.refused("tasks/result", { taskId }), {
            startImmediately: true
          })
          yield* quiesce
          const cancelled = yield* client.request("tasks/cancel", { taskId })
          assert.deepInclude(cancelled, { taskId, status: "cancelled" })
          assert.notProperty(cancelled, "_meta")
          assert.strictEqual((yield* client.get(taskId))["status"], "cancelled")
          yield* quiesce
          assert.isTrue(stopped)
          assert.deepInclude(yield* Fiber.join(waiting), { code: -31503, message: "The task was cancelled" })
          assert.strictEqual((yield* client.refused("tasks/cancel", { taskId })).code, McpError.InvalidParams)
          const done = yield* client.start("hello")
          yield* client.result(done["taskId"])
          const { code, message } = yield* client.refused("tasks/cancel", { taskId: done["taskId"] })
          assert.deepStrictEqual(
            [code, message],
            [McpError.InvalidParams, "Cannot cancel the task: it is already completed"]
          )
          assert.strictEqual((yield* client.get(done["taskId"]))["status"], "completed")
        }),
      verifies("tasks.cancel.status-first", "tasks.cancel.stops", "tasks.cancel.terminal-rejected")
    )

    it.effect(
      "A cancelled task stays cancelled even if its handler ends later",
      () =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<string>()
          const late = tool("late", "optional", () => Effect.uninterruptible(Deferred.await(gate)))
          const client = yield* open(withTasks(late))
          // No interruption ends the handler.
          yield* Effect.addFinalizer(() => Deferred.succeed(gate, "Late"))
          const { taskId } = yield* client.start("late")
          const cancelled = yield* client.request("tasks/cancel", { taskId })
          yield* Deferred.succeed(gate, "Late")
          yield* quiesce
          assert.deepStrictEqual(yield* client.get(taskId), cancelled)
        }),
      verifies("tasks.cancel.stays", "tasks.status.terminal")
    )

    it.effect(
      "A task is answered before its handler ends, and cancelling its call does not cancel it",
      () =>
        Effect.gen(function* () {
          const { end, layer } = yield* gated("slow")
          const client = yield* open(withTasks(layer))
          const started = yield* Effect.forkChild(client.start("slow"), { startImmediately: true })
          yield* quiesce
          const exit = started.pollUnsafe()
          assert.isDefined(exit)
          const { taskId } = yield* Fiber.join(started)
          for (const requestId of [1, 2, 3]) yield* client.notify("notifications/cancelled", { requestId })
          yield* quiesce
          yield* end
          assert.strictEqual((yield* client.result(taskId))["content"][0].text, "Done")
        }),
      verifies("tasks.create.at-once")
    )

    it.effect(
      "An unknown task fails with -32602, whatever the request's metadata",
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(wait))
          const { taskId } = yield* client.start("wait")
          for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
            const params = { taskId: "unknown", _meta: { [related]: { taskId } } }
            const { code, message } = yield* client.refused(method, params)
            assert.deepStrictEqual([code, message], [McpError.InvalidParams, "Unknown task"], method)
            assert.strictEqual((yield* client.refused(method, {})).code, McpError.InvalidParams, method)
          }
          assert.strictEqual((yield* client.get(taskId))["status"], "working")
          const ignored = { taskId, _meta: { [related]: { taskId: "unknown" } } }
          assert.strictEqual((yield* client.request("tasks/get", ignored))["taskId"], taskId)
        }),
      verifies(
        "tasks.error.unknown-id",
        "tasks.error.informative",
        "tasks.related.param-is-truth",
        "tasks.related.ignored-in-requests"
      )
    )
  })
}

describe("The `tasks` capability", () => {
  const all = { list: {}, cancel: {}, requests: { tools: { call: {} } } }
  const { list: _list, ...unlisted } = all

  it.effect(
    "The `tasks` capability includes lists only if the server knows its caller",
    () =>
      Effect.gen(function* () {
        const server = yield* serve(withTasks(hello))
        assert.deepStrictEqual((yield* connect(server)).initialized["capabilities"].tasks, all)
        const ada = yield* connect(server, { principal: principal("ada") })
        assert.deepStrictEqual(ada.initialized["capabilities"].tasks, all)
        const http = yield* overHttp(withTasks(hello))
        assert.deepStrictEqual(http.initialized["capabilities"].tasks, unlisted)
        assert.strictEqual((yield* http.refused("tasks/list")).code, McpError.MethodNotFound)
        assert.notProperty(ada.initialized["capabilities"], "extensions")
      }),
    verifies("tasks.capability.declared", "tasks.security.list-undeclared")
  )

  it.effect("Other revisions have neither the `tasks` capability nor its methods", () =>
    Effect.gen(function* () {
      const client = yield* inMemory(withTasks(hello), { version: "2025-06-18" })
      assert.notProperty(client.initialized["capabilities"], "tasks")
      for (const method of ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]) {
        assert.strictEqual((yield* client.refused(method, { taskId: "any" })).code, McpError.MethodNotFound)
      }
    })
  )

  it.effect(
    "Without task support, `task` in a call is ignored",
    () =>
      Effect.gen(function* () {
        const client = yield* inMemory(hello)
        assert.notProperty(client.initialized["capabilities"], "tasks")
        for (const task of [{ ttl: 1 }, "yes"]) {
          const result = yield* client.request("tools/call", { name: "hello", task })
          assert.strictEqual(result["content"][0].text, "Hello")
        }
      }),
    verifies("tasks.undeclared.ignored", "tasks.capability.undeclared-no-tasks")
  )
})

describe("Task lists", () => {
  it.effect(
    "A task list contains all of the caller's tasks and no others",
    () =>
      Effect.gen(function* () {
        const server = yield* serve(withTasks(hello, { perOwner: 1000 }))
        const ada = yield* connect(server, { principal: principal("ada") })
        const bob = yield* connect(server, { principal: principal("bob") })
        const { taskId: foreign } = yield* bob.start("hello")
        const ids: Array<string> = []
        for (let n = 0; n < 60; n++) ids.push((yield* ada.start("hello"))["taskId"])
        const first = yield* ada.request("tasks/list")
        assert.lengthOf(first["tasks"], 50)
        assert.notProperty(first, "_meta")
        const second = yield* ada.request("tasks/list", { cursor: first["nextCursor"] })
        assert.notProperty(second, "nextCursor")
        const listed = [...first["tasks"], ...second["tasks"]]
        assert.deepStrictEqual(
          listed.map(({ taskId }) => taskId),
          ids
        )
        assert.strictEqual(new Set(ids).size, 60)
        assert.deepStrictEqual(listed[0], yield* ada.get(ids[0]!))
        assert.deepStrictEqual(
          (yield* bob.request("tasks/list"))["tasks"].map(({ taskId }: { readonly taskId: string }) => taskId),
          [foreign]
        )
      }),
    verifies(
      "tasks.list.paginated",
      "tasks.list.next-cursor",
      "tasks.list.complete",
      "tasks.security.list-own-only",
      "tasks.id.unique",
      "tasks.related.not-in-results"
    )
  )

  it.effect(
    "A task list rejects a cursor that the server did not issue",
    () =>
      Effect.gen(function* () {
        const client = yield* inMemory(withTasks(hello))
        for (const cursor of ["x", "-1", "1e9", ""]) {
          const { code, message } = yield* client.refused("tasks/list", { cursor })
          assert.deepStrictEqual([code, message], [McpError.InvalidParams, "Unknown cursor"])
        }
      }),
    verifies("tasks.error.invalid-cursor")
  )
})

describe("Other callers' tasks", () => {
  it.effect(
    "A task from another principal, issuer or connection is unknown",
    () =>
      Effect.gen(function* () {
        const server = yield* serve(withTasks(wait))
        const ada = yield* connect(server, { principal: principal("ada") })
        const { taskId } = yield* ada.start("wait")
        const others = [
          yield* connect(server, { principal: principal("bob") }),
          yield* connect(server, { principal: principal("ada", "https://b.example") }),
          yield* connect(server)
        ]
        for (const other of others) {
          for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
            const { code, message } = yield* other.refused(method, { taskId })
            assert.deepStrictEqual([code, message], [McpError.InvalidParams, "Unknown task"], method)
          }
          assert.deepStrictEqual((yield* other.request("tasks/list"))["tasks"], [])
        }
        const again = yield* connect(server, { principal: principal("ada") })
        assert.strictEqual((yield* again.get(taskId))["status"], "working")
      }),
    verifies("tasks.security.bound", "tasks.security.foreign-rejected", "tasks.security.list-own-only")
  )

  it.effect(
    "Without principals, an HTTP task is identified only by a 256-bit random id",
    () =>
      Effect.gen(function* () {
        const client = yield* overHttp(withTasks(wait))
        const { taskId } = yield* client.start("wait")
        assert.isString(taskId)
        assert.match(taskId, /^t[\w-]{43}$/)
        const other = yield* client.again
        assert.strictEqual((yield* other.get(taskId))["status"], "working")
      }),
    verifies("tasks.security.id-entropy", "tasks.id.string")
  )
})

describe("Limits", () => {
  it.effect(
    "A task's time to live is the requested one, between a second and the maximum",
    () =>
      Effect.gen(function* () {
        const client = yield* inMemory(withTasks(wait, { ttl: "1 hour", maxTtl: "2 hours" }))
        const hour = 3_600_000
        for (const [asked, got] of [
          [undefined, hour],
          [60_000, 60_000],
          [3 * hour, 2 * hour],
          [null, 2 * hour],
          [0, 1000],
          [-1, 1000]
        ]) {
          const task = yield* client.start("wait", asked === undefined ? {} : { ttl: asked })
          assert.strictEqual(task["ttl"], got, `${asked}`)
        }
        assert.strictEqual(
          (yield* client.refused("tools/call", { name: "wait", task: { ttl: "1" } })).code,
          McpError.InvalidParams
        )
      }),
    verifies("tasks.limits.ttl", "tasks.fields.ttl")
  )

  it.effect(
    "A task ends at its time to live and is forgotten later",
    () =>
      Effect.gen(function* () {
        const client = yield* inMemory(withTasks(wait))
        const { taskId } = yield* client.start("wait", { ttl: 60_000 })
        const ended = yield* Effect.forkChild(client.refused("tasks/result", { taskId }), { startImmediately: true })
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual((yield* Fiber.join(ended)).code, -31504)
        assert.strictEqual((yield* client.get(taskId))["status"], "failed")
        yield* TestClock.adjust("11 minutes")
        assert.strictEqual((yield* client.refused("tasks/get", { taskId })).message, "Unknown task")
        assert.deepStrictEqual((yield* client.request("tasks/list"))["tasks"], [])
      }),
    verifies("tasks.limits.expired-removed")
  )

  it.effect(
    "A caller over the limit of running tasks is rejected until one of them ends",
    () =>
      Effect.gen(function* () {
        const client = yield* inMemory(withTasks(wait, { perOwner: 1 }))
        const { taskId } = yield* client.start("wait")
        const { code } = yield* client.refused("tools/call", { name: "wait", task: {} })
        assert.strictEqual(code, McpError.LimitExceeded)
        yield* client.request("tasks/cancel", { taskId })
        yield* client.start("wait")
      }),
    verifies("tasks.limits.concurrent")
  )

  it.effect("An ended task whose result was read makes room for a new task", () =>
    Effect.gen(function* () {
      const { end, layer } = yield* gated("gated")
      const client = yield* inMemory(withTasks(Layer.merge(hello, layer), { kept: 2 }))
      const waited = (yield* client.start("gated"))["taskId"]
      const result = yield* Effect.forkChild(client.result(waited), { startImmediately: true })
      yield* quiesce
      yield* end
      yield* Fiber.join(result)
      const fetched = (yield* client.start("hello"))["taskId"]
      yield* quiesce
      const call = { name: "hello", arguments: {}, task: {} }
      assert.strictEqual((yield* client.refused("tools/call", call)).code, McpError.LimitExceeded)
      yield* client.result(fetched)
      yield* client.start("hello")
      assert.strictEqual((yield* client.refused("tasks/get", { taskId: waited })).code, McpError.InvalidParams)
    })
  )

  it.effect("A caller with too many pending result requests is rejected until one of them ends", () =>
    Effect.gen(function* () {
      const server = yield* serve(withTasks(wait, { maxWaits: 2 }))
      const client = yield* connect(server)
      const { taskId } = yield* client.start("wait")
      const waits = [1, 2].map(() => Effect.forkChild(client.result(taskId), { startImmediately: true }))
      const [first] = yield* Effect.all(waits)
      yield* quiesce
      const { code, message } = yield* client.refused("tasks/result", { taskId })
      assert.strictEqual(code, McpError.LimitExceeded)
      assert.strictEqual(message, "Too many requests are waiting for task results: the limit per caller is 2")
      const other = yield* connect(server)
      const own = yield* other.start("wait")
      const waiting = yield* Effect.forkChild(other.result(own["taskId"]), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(waiting.pollUnsafe())
      yield* Fiber.interrupt(first!)
      yield* quiesce
      const third = yield* Effect.forkChild(client.result(taskId), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(third.pollUnsafe())
    })
  )
})

describe("Calls with `task`", () => {
  it.effect(
    "`task` on a forbidding tool, or its absence on a requiring tool, fails with -32601",
    () =>
      Effect.gen(function* () {
        const plain = tool("plain", undefined, () => Effect.succeed("Plain"))
        const only = tool("only", "required", () => Effect.succeed("Done"))
        const client = yield* inMemory(withTasks(Layer.merge(plain, only)))
        const forbidden = yield* client.refused("tools/call", { name: "plain", task: {} })
        assert.deepInclude(forbidden, {
          code: McpError.MethodNotFound,
          message: "The tool plain cannot run as a task. Call it without the `task` param"
        })
        const required = yield* client.refused("tools/call", { name: "only" })
        assert.deepInclude(required, {
          code: McpError.MethodNotFound,
          message: "The tool only only runs as a task. Call it with the `task` param"
        })
        const result = yield* client.request("tools/call", { name: "plain" })
        assert.strictEqual(result["content"][0].text, "Plain")
        const { taskId } = yield* client.start("only")
        assert.strictEqual((yield* client.result(taskId))["content"][0].text, "Done")
      }),
    verifies("tasks.tool.forbidden-error", "tasks.tool.required-error", "tasks.error.informative")
  )

  it.effect("A call with `task` becomes a task at once, without waiting for `begin`", () =>
    Effect.gen(function* () {
      let runs = 0
      const begins = tool("begins", "optional", () => Effect.as(Tasks.begin, `Run ${++runs}`), { beginsTask: true })
      const client = yield* inMemory(withTasks(begins))
      const { taskId } = yield* client.start("begins")
      assert.strictEqual((yield* client.result(taskId))["content"][0].text, "Run 1")
    })
  )

  it.effect("A call with `task` in a revision without tasks is an ordinary call", () =>
    Effect.gen(function* () {
      for (const version of ["2025-06-18", "2026-07-28"] as const) {
        const client = yield* McpTest.connect(withTasks(hello), version)
        const params = { name: "hello", task: "not even an object" }
        const result = yield* client.request("tools/call", params)
        assert.deepStrictEqual(result.content, [{ type: "text", text: "Hello" }], version)
      }
    })
  )

  it.effect(
    "A call with `task` fails with -32603 after a handler defect",
    () =>
      Effect.gen(function* () {
        const dies = tool("dies", "optional", () => Effect.die(new Error("secret")))
        const client = yield* inMemory(withTasks(dies))
        const { taskId } = yield* client.start("dies")
        const { code, message } = yield* client.refused("tasks/result", { taskId })
        assert.deepStrictEqual([code, message], [McpError.InternalError, "Internal error"])
      }),
    verifies("tasks.error.internal")
  )
})

it.effect("A progress message becomes the task's status message", () =>
  Effect.gen(function* () {
    const work = tool("work", "optional", () =>
      Effect.andThen(Progress.report(1, { message: "half way" }), Effect.never)
    )
    const client = yield* inMemory(withTasks(work))
    const { taskId } = yield* client.start("work")
    yield* TestClock.adjust("1 second")
    assert.deepInclude(yield* client.get(taskId), { status: "working", statusMessage: "half way" })
  })
)
