/** Questions that a server of 2025-11-25 asks as tasks, which the client runs. */
import * as TaskReceiver from "@effect-mcp/client/TaskReceiver"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { all, connected, quiesce } from "../support/connected.ts"
import { fork } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"

const version = "2025-11-25"
const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } }
const related = "io.modelcontextprotocol/related-task"
const accepted = { action: "accept" as const, content: {} }

/** A user that answers when the test says so, and records how each question ended. */
const host = Effect.gen(function* () {
  const answer = yield* Deferred.make<typeof accepted, McpError.McpError>()
  const ended: Array<Exit.Exit<unknown, unknown>> = []
  const user = Elicitation.layer({
    form: () => Effect.onExit(Deferred.await(answer), (exit) => Effect.sync(() => void ended.push(exit)))
  })
  return { answer, ended, user }
})

/** A client with a receiver, and its server, which asks. */
const receiving = Effect.fnUntraced(function* (options?: TaskReceiver.Options, client?: McpClient.Options) {
  const { answer, ended, user } = yield* host
  const { server } = yield* Effect.provide(
    connected({ version }, { revisions: [version], ...client }),
    Layer.merge(user, TaskReceiver.layerMemory(options))
  )
  const request = (method: string, params: object = {}) =>
    Effect.map(server.peer.request(method, { ...params }), (result) => (isJsonObject(result) ? result : {}))
  const codeOf = (method: string, params?: object) =>
    Effect.map(Effect.flip(request(method, params)), (error) =>
      error instanceof McpError.McpError ? error.code : error._tag
    )
  const created = Effect.fnUntraced(function* (task: object = {}) {
    const { task: made } = yield* request("elicitation/create", { ...form, task })
    return isJsonObject(made) ? made : assert.fail("no task")
  })
  return {
    answer,
    ended,
    server,
    request,
    codeOf,
    created,
    idOf: Effect.map(created(), ({ taskId }) => String(taskId))
  }
})

it.effect("A question cancelled while its task is created leaves no task behind", () =>
  Effect.gen(function* () {
    const interrupting = Logger.make(({ fiber, message }) => {
      if (String(message).includes("has started")) fiber.interruptUnsafe()
    })
    const loggers = Layer.merge(Logger.layer([interrupting]), Layer.succeed(References.MinimumLogLevel, "Debug"))
    const receiver = yield* Effect.provide(
      Effect.flatMap(TaskReceiver.TaskReceiver, ({ make }) => make),
      TaskReceiver.layerMemory()
    )
    const making = receiver.create("elicitation/create", { ttl: 2000 }, Effect.never)
    const fiber = yield* Effect.forkChild(Effect.provide(making, loggers), { startImmediately: true })
    assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
    const listed = Effect.suspend(
      () => receiver.receive({ jsonrpc: "2.0", id: 1, method: "tasks/list" }) ?? Effect.die("no list")
    )
    assert.include(JSON.stringify(yield* listed), '"status":"working"')
    yield* TestClock.adjust(2000)
    assert.deepStrictEqual(yield* listed, { tasks: [] })
  })
)

describe("Clients with a task receiver in 2025-11-25", () => {
  it.effect(
    "A client declares which questions it accepts as tasks",
    () =>
      Effect.gen(function* () {
        const { server } = yield* receiving()
        const declared = (server: {
          readonly requests: (method: string) => ReadonlyArray<{ readonly params?: any }>
        }) => server.requests("initialize")[0]?.params?.capabilities.tasks
        assert.deepStrictEqual(declared(server), { list: {}, cancel: {}, requests: { elicitation: { create: {} } } })
        const model = Sampling.layer(() => Effect.never)
        const other = yield* connected({ version }, { revisions: [version] }).pipe(
          Effect.provide(Layer.merge(model, TaskReceiver.layerMemory()))
        )
        assert.deepStrictEqual(declared(other.server).requests, { sampling: { createMessage: {} } })
        const without = yield* receiving({}, { tasks: false })
        assert.isUndefined(declared(without.server))
      }),
    verifies("tasks.capability.declared")
  )

  it.effect(
    "A question is answered immediately with a task that can be read",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2026, 0, 1))
        const { answer, created, request } = yield* receiving()
        const { taskId, ...task } = yield* created({ ttl: 60_000 })
        assert.match(String(taskId), /^t[\w-]{43}$/)
        assert.deepStrictEqual(task, {
          status: "working",
          createdAt: "2026-01-01T00:00:00.000Z",
          lastUpdatedAt: "2026-01-01T00:00:00.000Z",
          ttl: 60_000,
          pollInterval: 1000
        })
        // The id in the params counts, whatever the metadata says; the answer has no metadata.
        const misleading = { taskId, _meta: { [related]: { taskId: "other" } } }
        assert.deepStrictEqual(yield* request("tasks/get", misleading), { taskId, ...task })
        const fetching = yield* fork(request("tasks/result", misleading))
        yield* quiesce
        assert.isUndefined(fetching.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        yield* Deferred.succeed(answer, accepted)
        assert.deepStrictEqual(yield* Fiber.join(fetching), { ...accepted, _meta: { [related]: { taskId } } })
        assert.deepStrictEqual(yield* request("tasks/get", { taskId }), {
          taskId,
          ...task,
          status: "completed",
          lastUpdatedAt: "2026-01-01T00:00:02.000Z"
        })
        assert.deepStrictEqual(yield* request("tasks/result", { taskId }), {
          ...accepted,
          _meta: { [related]: { taskId } }
        })
      }),
    verifies(
      "tasks.create.result",
      "tasks.create.at-once",
      "tasks.id.string",
      "tasks.id.by-receiver",
      "tasks.security.id-entropy",
      "tasks.status.starts-working",
      "tasks.fields.created-at",
      "tasks.fields.last-updated-at",
      "tasks.fields.ttl",
      "tasks.result.blocks",
      "tasks.result.terminal",
      "tasks.result.exact",
      "tasks.result.same-response",
      "tasks.related.in-result",
      "tasks.related.param-is-truth",
      "tasks.related.ignored-in-requests",
      "tasks.related.not-in-results"
    )
  )

  it.effect(
    "A failed question's task returns the question's error",
    () =>
      Effect.gen(function* () {
        const { answer, codeOf, idOf, request } = yield* receiving()
        const taskId = yield* idOf
        yield* Deferred.fail(answer, new McpError.McpError({ code: -32_042, message: "No user" }))
        yield* quiesce
        assert.deepInclude(yield* request("tasks/get", { taskId }), { status: "failed", statusMessage: "No user" })
        assert.strictEqual(yield* codeOf("tasks/result", { taskId }), -32_042)
        assert.strictEqual(yield* codeOf("tasks/cancel", { taskId }), McpError.InvalidParams)
      }),
    verifies("tasks.failed.status-message", "tasks.failed.same-error", "tasks.cancel.terminal-rejected")
  )

  it.effect(
    "Cancelling a task stops its question first, and the task stays cancelled",
    () =>
      Effect.gen(function* () {
        const { answer, codeOf, ended, idOf, request } = yield* receiving()
        const taskId = yield* idOf
        const fetching = yield* fork(Effect.flip(request("tasks/result", { taskId })))
        yield* quiesce
        assert.deepInclude(yield* request("tasks/cancel", { taskId }), { taskId, status: "cancelled" })
        assert.deepInclude(yield* Fiber.join(fetching), { code: McpError.Interrupted })
        yield* quiesce
        assert.isTrue(ended[0] && Exit.hasInterrupts(ended[0]))
        yield* Deferred.succeed(answer, accepted)
        yield* quiesce
        assert.deepInclude(yield* request("tasks/get", { taskId }), { status: "cancelled" })
        assert.strictEqual(yield* codeOf("tasks/cancel", { taskId }), McpError.InvalidParams)
      }),
    verifies("tasks.cancel.stops", "tasks.cancel.status-first", "tasks.cancel.stays", "tasks.status.terminal")
  )

  it.effect(
    "A client lists its tasks in pages and rejects unknown ids and cursors",
    () =>
      Effect.gen(function* () {
        const { codeOf, created, request } = yield* receiving({ maxOpen: 200 })
        const ids = yield* Effect.replicateEffect(
          Effect.map(created(), ({ taskId }) => taskId),
          120
        )
        assert.strictEqual(new Set(ids).size, 120)
        const listed: Array<unknown> = []
        let cursor: unknown
        do {
          const page = yield* request("tasks/list", cursor === undefined ? {} : { cursor })
          const tasks = Array.isArray(page["tasks"]) ? page["tasks"] : []
          assert.isAtMost(tasks.length, 50)
          listed.push(...tasks.map(({ taskId }) => taskId))
          cursor = page["nextCursor"]
        } while (cursor !== undefined)
        assert.deepStrictEqual(listed, ids)
        for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
          assert.strictEqual(yield* codeOf(method, { taskId: "none" }), McpError.InvalidParams, method)
          assert.strictEqual(yield* codeOf(method, { taskId: 1 }), McpError.InvalidParams, method)
        }
        assert.strictEqual(yield* codeOf("tasks/list", { cursor: "none" }), McpError.InvalidParams)
      }),
    verifies(
      "tasks.id.unique",
      "tasks.list.paginated",
      "tasks.list.next-cursor",
      "tasks.list.complete",
      "tasks.error.unknown-id",
      "tasks.error.invalid-cursor"
    )
  )

  it.effect(
    "A task is kept as long as requested, within the client's limits",
    () =>
      Effect.gen(function* () {
        const { codeOf, created, ended, request } = yield* receiving({ maxTtl: "1 hour", ttl: "1 minute", maxOpen: 3 })
        const { taskId: short, ttl } = yield* created()
        assert.strictEqual(ttl, 60_000)
        assert.strictEqual((yield* created({ ttl: 1e12 }))["ttl"], 3_600_000)
        assert.strictEqual((yield* created({ ttl: 0 }))["ttl"], 1000)
        assert.strictEqual(yield* codeOf("elicitation/create", { ...form, task: {} }), McpError.LimitExceeded)
        yield* TestClock.adjust("1 minute")
        yield* quiesce
        assert.strictEqual(yield* codeOf("tasks/get", { taskId: short }), McpError.InvalidParams)
        assert.lengthOf(ended, 2)
        assert.lengthOf((yield* request("tasks/list"))["tasks"] as ReadonlyArray<unknown>, 1)
        yield* TestClock.adjust("1 hour")
        yield* quiesce
        assert.deepStrictEqual((yield* request("tasks/list"))["tasks"], [])
      }),
    verifies("tasks.limits.ttl", "tasks.limits.concurrent", "tasks.limits.expired-removed")
  )

  it.effect("A question without task params is answered directly", () =>
    Effect.gen(function* () {
      const { answer, codeOf, request } = yield* receiving()
      yield* Deferred.succeed(answer, accepted)
      assert.deepStrictEqual(yield* request("elicitation/create", form), accepted)
      const sampling = { messages: [], maxTokens: 1, task: {} }
      assert.strictEqual(yield* codeOf("sampling/createMessage", sampling), McpError.MethodNotFound)
    })
  )
})

describe.each(all.filter((version) => version !== Modern.version))("%s clients without a receiver", (version) => {
  it.effect("A client without a receiver ignores task params and has no task methods", () =>
    Effect.gen(function* () {
      const user = Elicitation.layer({ form: () => Effect.succeed(accepted) })
      const layer = version === "2025-11-25" ? user : Layer.merge(user, TaskReceiver.layerMemory())
      const { server } = yield* Effect.provide(connected({ version }, { revisions: [version] }), layer)
      const ask = server.peer.request("elicitation/create", { ...form, task: {} })
      if (version >= "2025-06-18") assert.deepStrictEqual(yield* ask, accepted)
      assert.deepInclude(yield* Effect.flip(server.peer.request("tasks/list", {})), { code: McpError.MethodNotFound })
    })
  )
})
