/** When a call becomes a task, and the answer that the client then gets. */
import { CancelReason, Elicitation, Once, Progress, RequestContext, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../src/store/memory.ts"
import { Journal } from "../../src/store/Journal.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"
import * as Tasks from "../../src/Tasks.ts"
import { connect, declared, id, serve, session, undeclared } from "../support/client.ts"
import { tool } from "../support/tools.ts"

const withTasks = (features: Parameters<typeof serve>[0], options?: Parameters<typeof Tasks.layer>[0]) =>
  Layer.merge(features, Tasks.layer(options))
const hello = tool("hello", "optional", () => Effect.succeed("Hello"))
const text = (result: { readonly [key: string]: any }) => result["content"][0].text

describe("Calls that become tasks", () => {
  it.effect(
    "A task call is answered with a task that can be read at once",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(hello))
        const { createdAt, lastUpdatedAt, taskId, ...task } = yield* client.call("hello")
        assert.deepStrictEqual(task, { resultType: "task", status: "working", ttlMs: 86_400_000, pollIntervalMs: 1000 })
        assert.deepStrictEqual([createdAt, lastUpdatedAt], ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"])
        const seen = yield* client.get(taskId)
        const inline = yield* client.call("hello", {}, undeclared)
        assert.strictEqual(seen["resultType"], "complete")
        assert.strictEqual(seen["status"], "completed")
        assert.deepStrictEqual({ ...seen["result"], resultType: "complete" }, inline)
      }),
    verifies(
      "tasks-extension.result-type.task",
      "tasks-extension.result-type.others",
      "tasks-extension.creation.durable",
      "tasks-extension.get.completed",
      "tasks-extension.get.result-type",
      "tasks-extension.execution.same-result"
    )
  )

  it.effect(
    "A task call waits until the store has created the task",
    () =>
      Effect.gen(function* () {
        const stored = yield* Deferred.make<void>()
        const slow = Layer.effectContext(
          Effect.map(Layer.build(Memory.layer()), (context) => {
            const store = Context.get(context, TaskStore)
            const create: typeof store.create = (...task) =>
              Effect.andThen(Deferred.await(stored), store.create(...task))
            return Context.add(context, TaskStore, { ...store, create })
          })
        )
        const client = yield* session(Layer.merge(hello, Layer.provide(Tasks.layerStore(), slow)))
        const call = yield* Effect.forkChild(client.call("hello"), { startImmediately: true })
        yield* quiesce
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(call.pollUnsafe())
        yield* Deferred.succeed(stored, undefined)
        const { taskId } = yield* Fiber.join(call)
        assert.strictEqual((yield* client.get(taskId))["taskId"], taskId)
      }),
    verifies("tasks-extension.creation.consistent")
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a rejected promise", (): any => Promise.reject(new Error("rejected"))],
    ["returns undefined", (): any => undefined],
    ["dies", (): any => Effect.die("no store")]
  ] as ReadonlyArray<readonly [string, () => Effect.Effect<any>]>)(
    "A store whose functions %s fails only the requests that need it",
    ([, call]) =>
      Effect.gen(function* () {
        const broken = Layer.effectContext(
          Effect.map(Layer.build(Memory.layer()), (context) => {
            const store = Context.get(context, TaskStore)
            return Context.add(context, TaskStore, { ...store, create: call, get: call, answer: call, cancel: call })
          })
        )
        const plain = tool("plain", undefined, () => Effect.succeed("here"))
        const client = yield* session(Layer.mergeAll(hello, plain, Layer.provide(Tasks.layerStore(), broken)))
        const failed = { code: -32603, message: "Internal error" }
        assert.deepInclude(yield* Effect.flip(client.call("hello")), failed)
        assert.deepInclude(yield* Effect.flip(client.get("t1")), failed)
        assert.deepInclude(yield* Effect.flip(client.request("tasks/cancel", { taskId: "t1" })), failed)
        assert.isDefined((yield* client.call("plain"))["content"])
      })
  )

  it.effect("A journal whose claim returns no Effect is called again", () =>
    Effect.gen(function* () {
      let claims = 0
      const broken = Layer.effectContext(
        Effect.map(Layer.build(Memory.layer()), (context) => {
          const journal = Context.get(context, Journal)
          const claim = (): any => void claims++
          return Context.add(context, Journal, { ...journal, claim, due: Effect.sleep("1 second") })
        })
      )
      yield* session(Layer.merge(hello, Layer.provide(Tasks.layerStore(), broken)))
      for (let seconds = 0; seconds < 5; seconds++) {
        yield* TestClock.adjust("1 second")
        yield* quiesce
      }
      assert.isAbove(claims, 1)
    })
  )

  it.effect(
    "A task call gets a 256-bit random id",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(hello))
        const ids = yield* Effect.replicateEffect(
          Effect.map(client.call("hello"), ({ taskId }) => taskId),
          20
        )
        for (const taskId of ids) assert.match(taskId, /^t[\w-]{43}$/)
        assert.strictEqual(new Set(ids).size, 20)
        assert.strictEqual(new Set(ids.map((taskId) => taskId.slice(0, 8))).size, 20)
      }),
    verifies("tasks-extension.security.unguessable")
  )

  it.effect("A task call gets the time to live and interval from the options", () =>
    Effect.gen(function* () {
      const client = yield* session(withTasks(hello, { ttl: "1 minute", pollInterval: "5 seconds" }))
      assert.deepInclude(yield* client.call("hello"), { ttlMs: 60_000, pollIntervalMs: 5000 })
    })
  )

  it.effect("A call over its caller's task limit fails with -31429 until a task ends", () =>
    Effect.gen(function* () {
      const client = yield* session(
        withTasks(
          tool("wait", "optional", () => Effect.never),
          { perOwner: 2 }
        )
      )
      const { taskId } = yield* client.call("wait")
      yield* client.call("wait")
      const refused = yield* client.refused("tools/call", { name: "wait" })
      assert.strictEqual(refused.code, McpError.LimitExceeded)
      yield* client.request("tasks/cancel", { taskId })
      assert.strictEqual((yield* client.call("wait"))["resultType"], "task")
    })
  )

  it.effect("A handler in a task runs without its request's connection, and its progress becomes the message", () =>
    Effect.gen(function* () {
      const seen = yield* Deferred.make<string>()
      const work = tool("work", "optional", () =>
        Effect.gen(function* () {
          const { clientInfo, http, method, outbound, revision } = yield* RequestContext.RequestContext
          yield* Progress.report(1, { message: "half way" })
          outbound.notify("notifications/message", { level: "error", data: "lost" })
          yield* Deferred.succeed(seen, `${clientInfo?.name} ${method} ${revision.version} ${http === undefined}`)
          return yield* Effect.never
        })
      )
      const client = yield* session(withTasks(work))
      const { taskId } = yield* client.call("work")
      assert.strictEqual(yield* Deferred.await(seen), "test tools/call 2026-07-28 true")
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* client.get(taskId), { status: "working", statusMessage: "half way" })
      assert.deepStrictEqual(client.notifications, [])
    })
  )
})

describe("Calls that stay requests", () => {
  it.effect(
    "A call stays a request unless it declares the extension itself",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(hello))
        assert.strictEqual((yield* client.call("hello"))["resultType"], "task")
        const result = yield* client.call("hello", {}, { ...undeclared, tasks: { requests: { tools: { call: {} } } } })
        assert.strictEqual(result["resultType"], "complete")
        assert.strictEqual(text(result), "Hello")
      }),
    verifies("tasks-extension.declared.per-request")
  )

  it.effect("A call to a tool without `task` stays a request, and an unknown name is rejected", () =>
    Effect.gen(function* () {
      const client = yield* session(withTasks(tool("plain", undefined, () => Effect.succeed("Plain"))))
      assert.strictEqual(text(yield* client.call("plain")), "Plain")
      assert.strictEqual((yield* client.refused("tools/call", { name: "none" })).code, McpError.InvalidParams)
    })
  )

  it.effect("A call to a hidden tool is rejected and creates no task", () =>
    Effect.gen(function* () {
      const hidden = tool("hidden", "required", () => Effect.succeed("Secret"), { visible: () => false })
      const client = yield* session(withTasks(hidden))
      assert.strictEqual((yield* client.refused("tools/call", { name: "hidden" })).code, McpError.InvalidParams)
    })
  )

  it.effect(
    "A call to a task-only tool without the extension fails with -32021, naming the extension",
    () =>
      Effect.gen(function* () {
        const client = yield* session(withTasks(tool("only", "required", () => Effect.succeed("Done"))))
        const { code, data } = yield* client.refused("tools/call", { name: "only" }, undeclared)
        assert.strictEqual(code, McpError.MissingClientCapability)
        assert.deepStrictEqual(data, { requiredCapabilities: { extensions: { [id]: {} } } })
        assert.strictEqual((yield* client.call("only", {}, declared))["resultType"], "task")
      }),
    verifies("tasks-extension.declared.required")
  )

  for (const version of ["2025-06-18", "2025-11-25"] as const) {
    it.effect(`A call in ${version} stays a request, and a task-only tool fails with -32601`, () =>
      Effect.gen(function* () {
        const only = tool("only", "required", () => Effect.succeed("Done"))
        const client = yield* McpTest.connect(withTasks(Layer.merge(hello, only)), version)
        const result = yield* client.request("tools/call", { name: "hello" })
        assert.deepStrictEqual(result.content, [{ type: "text", text: "Hello" }])
        const refused = yield* Effect.flip(client.request("tools/call", { name: "only" }))
        assert.propertyVal(refused, "code", McpError.MethodNotFound)
      })
    )
  }
})

describe("Handlers that begin their task", () => {
  const Name = Schema.Struct({ name: Schema.String })
  const answer = { name: { action: "accept", content: { name: "Ada" } } }

  it.effect(
    "A handler can ask before it begins its task and keeps the answers",
    () =>
      Effect.gen(function* () {
        let steps = 0
        const greet = tool(
          "greet",
          "required",
          () =>
            Effect.gen(function* () {
              const step = Effect.sync(() => ++steps)
              const count = yield* Once.run("step", Schema.Int, step)
              const { name } = yield* Elicitation.form("Your name?", Name, { key: "name" })
              yield* Tasks.begin
              const { name: other } = yield* Elicitation.form("Your name?", Name, { key: "name" })
              return `${name} and ${other} after ${count} step`
            }),
          { beginsTask: true }
        )
        const client = yield* session(withTasks(greet))
        const asked = yield* client.call("greet")
        assert.strictEqual(asked["resultType"], "input_required")
        assert.deepStrictEqual(Object.keys(asked["inputRequests"]), ["name"])
        const { requestState } = asked
        const { resultType, taskId } = yield* client.request("tools/call", {
          name: "greet",
          arguments: {},
          inputResponses: answer,
          requestState
        })
        assert.strictEqual(resultType, "task")
        const open = yield* client.get(taskId)
        assert.deepStrictEqual(Object.keys(open["inputRequests"]), ["name"])
        yield* client.update(taskId, { name: { action: "accept", content: { name: "Bob" } } })
        yield* quiesce
        assert.strictEqual(text((yield* client.get(taskId))["result"]), "Ada and Bob after 1 step")
        assert.strictEqual(steps, 1)
      }),
    verifies("tasks-extension.creation.after-rounds")
  )

  it.effect("A call is answered directly if it ends before `begin` or the client has no tasks", () =>
    Effect.gen(function* () {
      const early = tool("early", "optional", () => Effect.succeed("Early"), { beginsTask: true })
      const failing = tool("failing", "optional", () => McpError.invalidParams("No"), { beginsTask: true })
      const begins = tool("begins", "optional", () => Effect.as(Tasks.begin, "Inline"), { beginsTask: true })
      const client = yield* session(withTasks(Layer.mergeAll(early, failing, begins)))
      assert.strictEqual(text(yield* client.call("early")), "Early")
      assert.strictEqual((yield* client.refused("tools/call", { name: "failing" })).message, "No")
      assert.strictEqual(text(yield* client.call("begins", {}, undeclared)), "Inline")
    })
  )

  it.effect("A handler that can begin a task can be interrupted until it does", () =>
    Effect.gen(function* () {
      const reasons: Array<string | undefined> = []
      const noted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.onExit(effect, (exit) =>
          Effect.sync(() => void (Exit.isFailure(exit) && reasons.push(CancelReason.of(exit.cause))))
        )
      const begins = tool("begins", "optional", () => noted(Effect.as(Tasks.begin, "Done")), { beginsTask: true })
      const waits = tool("waits", "optional", () => noted(Effect.never), { beginsTask: true })
      const client = yield* session(withTasks(Layer.merge(begins, waits)))
      const { taskId } = yield* client.call("begins")
      yield* quiesce
      assert.strictEqual(text((yield* client.get(taskId))["result"]), "Done")
      const call = yield* Effect.forkChild(client.call("waits"), { startImmediately: true })
      yield* quiesce
      call.interruptUnsafe(undefined, CancelReason.annotation("The window was closed"))
      yield* quiesce
      assert.deepStrictEqual(reasons, ["The call continues as a task", "The window was closed"])
    })
  )
})

it.effect("A stopping server interrupts its tasks without waiting for them", () =>
  Effect.gen(function* () {
    const reason = yield* Deferred.make<string | undefined>()
    const wait = tool("wait", "optional", () =>
      Effect.onExit(Effect.never, (exit) =>
        Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "no interruption")
      )
    )
    const scope = yield* Scope.make()
    const server = yield* Scope.provide(serve(withTasks(wait)), scope)
    const client = yield* connect(server)
    yield* client.call("wait")
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(yield* Deferred.await(reason), "The server is shutting down")
  })
)

it.effect("A tool declares optional tasks in revisions with a field for it", () =>
  Effect.gen(function* () {
    for (const [version, support] of [
      ["2025-06-18", undefined],
      ["2025-11-25", "optional"],
      ["2026-07-28", undefined]
    ] as const) {
      const client = yield* McpTest.connect(withTasks(hello), version)
      const { tools } = yield* client.request("tools/list", {})
      assert.strictEqual(tools[0]?.execution?.taskSupport, support, version)
    }
  })
)

it.effect("A tool with optional tasks answers within the request if the server has no tasks", () =>
  Effect.gen(function* () {
    const client = yield* session(
      Layer.merge(
        hello,
        tool("fails", "optional", () => new Tools.ToolFailure({ message: "No" }))
      )
    )
    assert.strictEqual(text(yield* client.call("hello")), "Hello")
    assert.strictEqual((yield* client.call("fails"))["isError"], true)
  })
)
