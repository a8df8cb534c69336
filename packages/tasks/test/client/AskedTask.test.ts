/** Questions of a server that a client of 2025-11-25 runs as tasks. */
import * as TaskReceiver from "@effect-mcp/client/TaskReceiver"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Transport from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"

const version = "2025-11-25"
const Name = Schema.Struct({ name: Schema.String })
const Greet = Tool.make("greet", { description: "Greets" })
const greet = (options?: Parameters<typeof Elicitation.form>[2]) =>
  Tools.layer(Greet, () => Effect.map(Elicitation.form("Your name?", Name, options), ({ name }) => `Hello ${name}`))
const asTask = { task: { ttl: "1 hour" } } as const
const accepted = { action: "accept" as const, content: { name: "Ada" } }

/** A manual client: a table defines its answers, and its questions are recorded. */
const scripted = Effect.fnUntraced(function* (
  answers: { readonly [method: string]: (params: any) => Effect.Effect<unknown, McpError.McpError> },
  {
    protocolVersion = version,
    features = greet(asTask),
    tasks = { cancel: {}, requests: { elicitation: { create: {} } } }
  }: { readonly protocolVersion?: string; readonly features?: ReturnType<typeof greet>; readonly tasks?: object } = {}
) {
  const server = yield* Layer.build(Layer.fresh(McpServer.layer({ name: "test", version: "1.0.0", features })))
  const [near, far] = yield* Memory.pair()
  yield* Context.get(server, McpServer.McpServer).connect(far)
  const asked: Array<{ readonly method: string; readonly params: any }> = []
  const notes: Array<string> = []
  // Cancellations do not reach the handlers of a peer.
  const noted = Transport.tap(near, (inbound) => {
    if (inbound._tag === "Message" && "method" in inbound.message && !("id" in inbound.message)) {
      notes.push(inbound.message.method)
    }
  })
  const peer = yield* Peer.make(noted, {
    request: ({ request: { method, params } }) => {
      asked.push({ method, params })
      return answers[method]?.(params) ?? Effect.fail(McpError.methodNotFound(method))
    },
    notification: () => {}
  })
  yield* peer.request("initialize", {
    protocolVersion,
    capabilities: { elicitation: {}, sampling: {}, tasks },
    clientInfo: { name: "test", version: "0" }
  })
  peer.notify("notifications/initialized")
  const call = yield* Effect.forkChild(peer.request("tools/call", { name: "greet", arguments: {} }), {
    startImmediately: true
  })
  return { asked, call, notes, peer, methods: () => asked.map(({ method }) => method) }
})

const state = (status: string, more: object = {}) => ({
  taskId: "t1",
  status,
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ttl: null,
  pollInterval: 500,
  ...more
})
const created = () => Effect.succeed({ task: state("working") })

describe("Questions as tasks", () => {
  it.effect(
    "A question task is polled at the client's interval, then its answer is fetched",
    () =>
      Effect.gen(function* () {
        let status = "working"
        const { asked, call, methods } = yield* scripted({
          "elicitation/create": created,
          "tasks/get": () => Effect.succeed(state(status)),
          "tasks/result": () => Effect.succeed(accepted)
        })
        yield* quiesce
        assert.deepStrictEqual(asked[0]?.params.task, { ttl: 3_600_000 })
        yield* TestClock.adjust(499)
        yield* quiesce
        assert.deepStrictEqual(methods(), ["elicitation/create"])
        yield* TestClock.adjust(1)
        yield* quiesce
        assert.deepStrictEqual(methods(), ["elicitation/create", "tasks/get"])
        // Longer than any request may take.
        for (let i = 0; i < 600; i++) yield* Effect.andThen(TestClock.adjust(500), quiesce)
        assert.isUndefined(call.pollUnsafe())
        status = "completed"
        yield* TestClock.adjust(500)
        assert.deepInclude(yield* Fiber.join(call), { content: [{ type: "text", text: "Hello Ada" }] })
        assert.deepStrictEqual(methods().slice(-2), ["tasks/get", "tasks/result"])
        for (const { params } of asked.slice(1)) assert.deepStrictEqual(params, { taskId: "t1" })
      }),
    verifies("tasks.get.poll-interval", "tasks.get.until-terminal", "tasks.related.not-in-requests")
  )

  it.effect("A question task fails if the client's task is rejected, cancelled or malformed", () =>
    Effect.gen(function* () {
      const textOf = Effect.fnUntraced(function* (answers: Parameters<typeof scripted>[0]) {
        const { call } = yield* scripted({ "elicitation/create": created, ...answers })
        yield* quiesce
        yield* TestClock.adjust(500)
        const exit = yield* Fiber.await(call)
        return JSON.stringify(Exit.isSuccess(exit) ? exit.value : exit.cause)
      })
      const refused = new McpError.McpError({ code: McpError.UserRejected, message: "Not now" })
      const failed = { "tasks/get": () => Effect.succeed(state("failed")), "tasks/result": () => Effect.fail(refused) }
      assert.include(yield* textOf(failed), "Not now")
      const cancelled = () => Effect.succeed(state("cancelled", { statusMessage: "Closed" }))
      assert.include(yield* textOf({ "tasks/get": cancelled }), "Closed")
      assert.include(yield* textOf({ "tasks/get": () => Effect.succeed({}) }), "with a task")
      assert.include(
        yield* textOf({ "elicitation/create": () => Effect.succeed({ task: { taskId: 1 } }) }),
        "with a task"
      )
    })
  )

  it.effect(
    "Interrupting the handler cancels its question task with a request",
    () =>
      Effect.gen(function* () {
        const { call, methods } = yield* scripted({
          "elicitation/create": created,
          "tasks/cancel": () => Effect.succeed(state("cancelled"))
        })
        yield* quiesce
        yield* Fiber.interrupt(call)
        yield* quiesce
        assert.deepStrictEqual(methods(), ["elicitation/create", "tasks/cancel"])
      }),
    verifies("tasks.cancel.not-by-notification")
  )

  it.effect(
    "A question interrupted before its task is known is cancelled afterwards by a request",
    () =>
      Effect.gen(function* () {
        const known = yield* Deferred.make<void>()
        const { asked, call, methods, notes } = yield* scripted({
          "elicitation/create": () => Effect.andThen(Deferred.await(known), created()),
          "tasks/cancel": () => Effect.succeed(state("cancelled"))
        })
        yield* quiesce
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(call), { startImmediately: true })
        yield* quiesce
        assert.deepStrictEqual(methods(), ["elicitation/create"])
        yield* Deferred.succeed(known, undefined)
        yield* quiesce
        yield* Fiber.join(interrupting)
        assert.deepStrictEqual(methods(), ["elicitation/create", "tasks/cancel"])
        assert.deepStrictEqual(asked[1]?.params, { taskId: "t1" })
        assert.deepStrictEqual(notes, [])
      }),
    verifies("tasks.cancel.not-by-notification")
  )

  it.effect(
    "A question is asked without a task unless the client supports it",
    () =>
      Effect.gen(function* () {
        const answers = { "elicitation/create": () => Effect.succeed(accepted) }
        for (const tasks of [{}, { requests: {} }, { requests: { sampling: { createMessage: {} } } }]) {
          const { asked, call } = yield* scripted(answers, { tasks })
          assert.deepInclude(yield* Fiber.join(call), { content: [{ type: "text", text: "Hello Ada" }] })
          assert.isUndefined(asked[0]?.params.task)
        }
        const older = yield* scripted(answers, { protocolVersion: "2025-06-18" })
        yield* Fiber.join(older.call)
        assert.isUndefined(older.asked[0]?.params.task)
        const plain = yield* scripted(answers, { features: greet() })
        yield* Fiber.join(plain.call)
        assert.isUndefined(plain.asked[0]?.params.task)
        const inline = yield* scripted(answers)
        yield* Fiber.join(inline.call)
        assert.deepStrictEqual(inline.methods(), ["elicitation/create"])
      }),
    verifies("tasks.capability.requestor-respects", "tasks.capability.undeclared-no-tasks")
  )
})

describe.each(Revision.all)("Questions as tasks in $version", (revision) => {
  it.effect("A handler that asks with a task gets the answer, with or without a task receiver", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      const user = Elicitation.layer({ form: () => Effect.as(Deferred.await(answer), accepted) })
      const model = Sampling.layer(() =>
        Effect.succeed({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "Hi" } })
      )
      const client = yield* McpTest.connect(greet(asTask), revision).pipe(
        Effect.provide(Layer.mergeAll(user, model, TaskReceiver.layerMemory()))
      )
      const call = yield* Effect.forkChild(client.callToolByName("greet"), { startImmediately: true })
      yield* quiesce
      yield* Deferred.succeed(answer, undefined)
      for (let i = 0; i < 4; i++) yield* Effect.andThen(quiesce, TestClock.adjust("1 second"))
      const { content, isError } = yield* Fiber.join(call)
      if (revision.version >= "2025-06-18") assert.deepInclude(content[0], { text: "Hello Ada" })
      else assert.isTrue(isError)
    })
  )
})
