/** The requests and the subscription of the extension, over the tasks of their caller. */
import { CancelReason, Elicitation, Log, Progress, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Latch, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import { connect, id, serve, session, undeclared } from "../support/client.ts"
import { tool } from "../support/tools.ts"

const withTasks = (features: Parameters<typeof serve>[0]) => Layer.merge(features, Tasks.layer())
const wait = tool("wait", "optional", () => Effect.never)
const requests = ["tasks/get", "tasks/update", "tasks/cancel"]
const paramsOf = (taskId: unknown) => ({ taskId, inputResponses: {} })
const accept = (name: string) => ({ action: "accept", content: { name } })
const ask = (key: string) => Elicitation.form(`Who is ${key}?`, Schema.Struct({ name: Schema.String }), { key })

describe("tasks/get", () => {
  it.effect(
    "tasks/get returns a running task's message and a failed task's error",
    () =>
      Effect.gen(function* () {
        const failed = tool("failed", "optional", () =>
          Effect.fail(new McpError.McpError({ code: -32000 - 42, message: "Broken", data: { why: 1 } }))
        )
        const client = yield* session(withTasks(Layer.merge(wait, failed)))
        const running = yield* client.get((yield* client.call("wait"))["taskId"])
        assert.strictEqual(running["status"], "working")
        assert.notProperty(running, "result")
        const ended = yield* client.get((yield* client.call("failed"))["taskId"])
        assert.deepInclude(ended, { status: "failed", statusMessage: "Broken", resultType: "complete" })
        assert.deepStrictEqual(ended["error"], { code: -32_042, message: "Broken", data: { why: 1 } })
        assert.notProperty(ended, "result")
      }),
    verifies(
      "tasks-extension.get.status",
      "tasks-extension.get.working",
      "tasks-extension.get.failed",
      "tasks-extension.execution.message",
      "tasks-extension.execution.error",
      "tasks-extension.execution.same-error"
    )
  )

  it.effect(
    "tasks/get returns a tool's failure as the result of a completed task",
    () =>
      Effect.gen(function* () {
        const failing = tool("failing", "optional", () => Effect.fail(new Tools.ToolFailure({ message: "No" })))
        const client = yield* session(withTasks(failing))
        const ended = yield* client.get((yield* client.call("failing"))["taskId"])
        assert.deepInclude(ended, { status: "completed" })
        assert.strictEqual(ended["result"].isError, true)
        assert.notProperty(ended, "error")
      }),
    verifies("tasks-extension.status.failed", "tasks-extension.execution.tool-error")
  )
})

it.effect("A task with an oversized result fails with the reason", () =>
  Effect.gen(function* () {
    const long = "x".repeat(1000)
    const features = Layer.mergeAll(
      tool("short", "optional", () => Effect.succeed("short")),
      tool("long", "optional", () => Effect.succeed(long)),
      tool("failing", "optional", () =>
        Effect.fail(new McpError.McpError({ code: -32042, message: "No", data: long }))
      ),
      tool("verbose", "optional", () => Effect.fail(new McpError.McpError({ code: -32042, message: long }))),
      Tasks.layer({ resultBytes: 500 })
    )
    const client = yield* session(features)
    const ended = (name: string) => Effect.flatMap(client.call(name), ({ taskId }) => client.get(taskId))
    assert.strictEqual((yield* ended("short"))["status"], "completed")
    const { error, status } = yield* ended("long")
    assert.strictEqual(status, "failed")
    assert.strictEqual(error.code, McpError.LimitExceeded)
    assert.match(error.message, /^The task's result is too large: 10\d\d bytes, limit 500. Return less data$/)
    assert.deepStrictEqual((yield* ended("failing"))["error"], { code: -32_042, message: "No" })
    assert.isBelow((yield* ended("verbose"))["error"].message.length, 500)
  })
)

describe("tasks/update", () => {
  const both = tool("both", "optional", () =>
    Effect.map(Effect.all([ask("a"), ask("b")], { concurrency: "unbounded" }), (people) =>
      people.map(({ name }) => name).join(" ")
    )
  )

  it.effect(
    "tasks/update answers open questions and ignores other keys",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(both))
        const { taskId } = yield* client.call("both")
        const open = yield* client.get(taskId)
        assert.strictEqual(open["status"], "input_required")
        assert.deepStrictEqual(Object.keys(open["inputRequests"]), ["a", "b"])
        assert.deepInclude(open["inputRequests"].a, { method: "elicitation/create" })
        assert.strictEqual(open["inputRequests"].a.params.message, "Who is a?")
        assert.deepStrictEqual(yield* client.update(taskId, { a: accept("Ada"), c: accept("Eve") }), {
          resultType: "complete"
        })
        assert.deepStrictEqual(Object.keys((yield* client.get(taskId))["inputRequests"]), ["b"])
        yield* client.update(taskId, { a: accept("Eve") })
        yield* client.update(taskId, { b: accept("Bob") })
        yield* quiesce
        const ended = yield* client.get(taskId)
        assert.strictEqual(ended["result"].content[0].text, "Ada Bob")
        assert.deepStrictEqual(yield* client.update(taskId, { b: accept("Eve") }), { resultType: "complete" })
      }),
    verifies(
      "tasks-extension.get.input-required",
      "tasks-extension.get.all-questions",
      "tasks-extension.update.acknowledged",
      "tasks-extension.update.unknown-keys",
      "tasks-extension.update.result-type"
    )
  )

  it.effect(
    "tasks/update repeats a question under a new key after an invalid answer",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(tool("one", "optional", () => Effect.as(ask("a"), "Done"))))
        const { taskId } = yield* client.call("one")
        yield* client.update(taskId, { a: { action: "perhaps" } })
        yield* quiesce
        assert.deepStrictEqual(Object.keys((yield* client.get(taskId))["inputRequests"]), ["a#2"])
      }),
    verifies(
      "tasks-extension.update.unique-keys",
      "tasks-extension.update.key-after-answer",
      "tasks-extension.update.key-of-one"
    )
  )

  it.effect("tasks/update rejects non-object answers", () =>
    Effect.gen(function* () {
      const client = yield* session(withTasks(both))
      const { taskId } = yield* client.call("both")
      const refused = yield* client.refused("tasks/update", { taskId, inputResponses: { a: "Ada" } })
      assert.strictEqual(refused.code, McpError.InvalidParams)
      assert.deepStrictEqual(Object.keys((yield* client.get(taskId))["inputRequests"]), ["a", "b"])
    })
  )
})

describe("tasks/cancel", () => {
  it.effect(
    "tasks/cancel interrupts the handler and returns an empty result, even for an ended task",
    () =>
      Effect.gen(function* () {
        const reason = yield* Deferred.make<string | undefined>()
        const waiting = tool("waiting", "optional", () =>
          Effect.onExit(Effect.never, (exit) =>
            Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "no interruption")
          )
        )
        const client = yield* session(
          withTasks(
            Layer.merge(
              waiting,
              tool("done", "optional", () => Effect.succeed("Done"))
            )
          )
        )
        const { taskId } = yield* client.call("waiting")
        assert.deepStrictEqual(yield* client.request("tasks/cancel", { taskId }), { resultType: "complete" })
        assert.deepInclude(yield* client.get(taskId), { status: "cancelled", resultType: "complete" })
        assert.strictEqual(yield* Deferred.await(reason), "The task was cancelled")
        assert.deepStrictEqual(yield* client.request("tasks/cancel", { taskId }), { resultType: "complete" })
        const ended = yield* client.call("done")
        yield* client.request("tasks/cancel", { taskId: ended["taskId"] })
        assert.strictEqual((yield* client.get(ended["taskId"]))["status"], "completed")
      }),
    verifies(
      "tasks-extension.get.cancelled",
      "tasks-extension.cancel.acknowledged",
      "tasks-extension.cancel.result-type"
    )
  )
})

describe("Task requests", () => {
  it.effect(
    "A task request without the extension fails with -32021, even for an unknown id",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(wait))
        const { taskId } = yield* client.call("wait")
        for (const method of requests) {
          for (const known of [taskId, "unknown"]) {
            const { code, data, message } = yield* client.refused(method, paramsOf(known), undeclared)
            assert.strictEqual(code, McpError.MissingClientCapability, method)
            assert.deepStrictEqual(data, { requiredCapabilities: { extensions: { [id]: {} } } })
            assert.include(message, id)
          }
        }
        assert.strictEqual((yield* client.get(taskId))["status"], "working")
      }),
    verifies("tasks-extension.errors.undeclared", "tasks-extension.errors.informative")
  )

  it.effect(
    "A task request fails with the same -32602 for an unknown id and for another caller's task",
    () =>
      Effect.gen(function* () {
        const server = yield* serve(withTasks(wait))
        const principal = (subject: string) => ({ subject, scopes: [], claims: { iss: "https://a.example" } })
        const ada = yield* connect(server, { principal: principal("ada") })
        const { taskId } = yield* ada.call("wait")
        const others = [
          yield* connect(server, { principal: principal("bob") }),
          yield* connect(server, { principal: { ...principal("ada"), claims: { iss: "https://b.example" } } }),
          yield* connect(server)
        ]
        for (const method of requests) {
          const unknown = yield* ada.refused(method, paramsOf("unknown"))
          assert.deepInclude(unknown, { code: McpError.InvalidParams, message: "Unknown task" })
          for (const other of others) {
            assert.deepStrictEqual(yield* other.refused(method, paramsOf(taskId)), unknown, method)
          }
        }
        // The same principal over another connection.
        const again = yield* connect(server, { principal: principal("ada") })
        assert.strictEqual((yield* again.get(taskId))["status"], "working")
      }),
    verifies(
      "tasks-extension.errors.unknown-get",
      "tasks-extension.errors.unknown-others",
      "tasks-extension.update.unknown-task",
      "tasks-extension.cancel.unknown-task",
      "tasks-extension.errors.standard",
      "tasks-extension.security.authorized"
    )
  )

  it.effect("An anonymous connection's task request finds no task of another connection", () =>
    Effect.gen(function* () {
      const server = yield* serve(withTasks(wait))
      const [one, two] = [yield* connect(server), yield* connect(server)]
      const { taskId } = yield* one.call("wait")
      assert.strictEqual((yield* two.refused("tasks/get", { taskId })).message, "Unknown task")
    })
  )

  it.effect("A task request with a 2025-11-25 method fails with -32601 in 2026-07-28", () =>
    Effect.gen(function* () {
      const client = yield* session(withTasks(wait))
      for (const method of ["tasks/result", "tasks/list"]) {
        assert.strictEqual((yield* client.refused(method, { taskId: "any" })).code, McpError.MethodNotFound)
      }
    })
  )
})

describe("Task subscriptions", () => {
  it.effect("A subscription that reports a task's end counts as a read", () =>
    Effect.gen(function* () {
      const go = yield* Latch.make(false)
      const gated = tool("gated", "optional", () => Effect.as(go.await, "Done"))
      const client = yield* session(Layer.merge(gated, Tasks.layer({ kept: 2 })))
      const { taskId } = yield* client.call("gated")
      const listening = { notifications: { taskIds: [taskId] } }
      yield* Effect.forkChild(client.request("subscriptions/listen", listening), { startImmediately: true })
      yield* quiesce
      yield* go.open
      yield* quiesce
      assert.deepInclude(client.notifications.at(-1)?.params, { taskId, status: "completed" })
      assert.strictEqual((yield* client.call("gated"))["resultType"], "task")
    })
  )

  it.effect(
    "A subscription emits each state of the caller's tasks, without progress or logs",
    () =>
      Effect.gen(function* () {
        const latch = yield* Latch.make()
        const work = tool("work", "optional", () =>
          Effect.gen(function* () {
            yield* Progress.report(1, { message: "half way" })
            yield* Log.error("a log message")
            yield* latch.await
            return "Done"
          })
        )
        const server = yield* serve(withTasks(Layer.merge(work, wait)))
        const other = yield* connect(server)
        const foreign = yield* other.call("wait")
        const client = yield* connect(server)
        const { taskId } = yield* client.call("work")
        const taskIds = [taskId, "unknown", foreign["taskId"]]
        yield* Effect.forkChild(client.request("subscriptions/listen", { notifications: { taskIds } }), {
          startImmediately: true
        })
        yield* quiesce
        yield* TestClock.adjust("1 second")
        yield* latch.open
        yield* quiesce
        const [acknowledged, ...states] = client.notifications
        assert.deepStrictEqual(acknowledged?.params.notifications, { taskIds: [taskId] })
        for (const { method } of states) assert.strictEqual(method, "notifications/tasks")
        const { resultType: _type, ...seen } = yield* client.get(taskId)
        const { _meta, ...last } = states.at(-1)?.params ?? {}
        assert.deepStrictEqual(last, seen)
        const messages = states.map(({ params }) => [params.status, params.statusMessage])
        assert.deepInclude(messages, ["working", "half way"])
        assert.deepStrictEqual(messages.at(-1), ["completed", undefined])
      }),
    verifies("tasks-extension.listen.no-progress")
  )

  it.effect(
    "A task subscription fails with -32021 if the request does not declare the extension",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(wait))
        const params = { notifications: { taskIds: ["any"] } }
        const { code, data } = yield* client.refused("subscriptions/listen", params, undeclared)
        assert.strictEqual(code, McpError.MissingClientCapability)
        assert.deepStrictEqual(data, { requiredCapabilities: { extensions: { [id]: {} } } })
      }),
    verifies("tasks-extension.listen.undeclared", "tasks-extension.errors.listen-undeclared")
  )
})

it.effect("2026-07-28 declares the tasks extension without a `tasks` capability", () =>
  Effect.gen(function* () {
    const client = yield* session(withTasks(wait))
    const { capabilities } = yield* client.request("server/discover")
    assert.deepStrictEqual(capabilities.extensions, { [id]: {} })
    assert.notProperty(capabilities, "tasks")
  })
)
