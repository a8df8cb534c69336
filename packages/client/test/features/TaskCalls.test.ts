/** Calls that the server answers with a task, in both generations. To the caller, they look like any call. */
import { InvalidResult, TaskCancelled } from "@effect-mcp/client/ClientError"
import * as Tool from "@effect-mcp/core/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { fork } from "../support/recovering.ts"
import { answer, created, ended, generations, serving, state, sum, type Version } from "../support/tasks.ts"

/** Additions to the state of a completed task. */
const resultOf = (version: Version) => (version === "2025-11-25" ? {} : { result: sum })
const Add = Tool.make("add", { description: "Adds", input: { a: Schema.Int }, output: { sum: Schema.Int } })

describe.each(generations)("Calls answered with a task in %s", (version) => {
  const working = ["working"] as const
  const completed = ["completed", { result: sum }] as const

  it.effect("Every form of call returns the task's result", () =>
    Effect.gen(function* () {
      const { client } = yield* serving({ version })
      const calls = yield* fork(
        Effect.all(
          [
            client.callTool(Add, { a: 1 }),
            client.callToolByName("add", { a: 1 }),
            Stream.runCollect(client.callToolStream(Add, { a: 1 })),
            Stream.runCollect(client.callToolByNameStream("add", { a: 1 }))
          ],
          { concurrency: "unbounded" }
        )
      )
      const [typed, named, events, namedEvents] = yield* ended(calls)
      assert.deepStrictEqual(typed, { sum: 3 })
      assert.deepStrictEqual(named.structuredContent, { sum: 3 })
      assert.deepStrictEqual(events, [{ _tag: "Result", value: { sum: 3 } }])
      assert.deepStrictEqual(
        namedEvents.map(({ _tag }) => _tag),
        ["Result"]
      )
    })
  )

  it.effect(
    "A task is polled at the server's interval until it is done",
    () =>
      Effect.gen(function* () {
        const states = [
          working,
          ["working", version === "2025-11-25" ? { pollInterval: 2000 } : { pollIntervalMs: 2000 }],
          completed
        ] as const
        const { client, server, seen } = yield* serving({ version, states })
        const call = yield* fork(client.callToolByName("add"))
        yield* quiesce
        const reads = Effect.fnUntraced(function* (millis: number) {
          yield* TestClock.adjust(millis)
          yield* quiesce
          return seen.reads
        })
        assert.deepStrictEqual(
          [seen.reads, yield* reads(499), yield* reads(1), yield* reads(499), yield* reads(1), yield* reads(1999)],
          [0, 0, 1, 1, 2, 2]
        )
        assert.isUndefined(call.pollUnsafe())
        assert.strictEqual(yield* reads(1), 3)
        assert.deepStrictEqual((yield* Fiber.join(call)).structuredContent, { sum: 3 })
        yield* reads(1e6)
        assert.strictEqual(seen.reads, 3)
        assert.notInclude(Modern.methods(server), "tasks/cancel")
      }),
    verifies(
      version === "2025-11-25" ? "tasks.get.poll-interval" : "tasks-extension.polling.interval",
      version === "2025-11-25" ? "tasks.get.until-terminal" : "tasks-extension.polling.until-terminal",
      ...(version === "2025-11-25" ? ["tasks.get.beside-result" as const] : [])
    )
  )

  it.effect("A task is polled every second by default, and at most ten times a second", () =>
    Effect.gen(function* () {
      for (const [interval, wait] of [
        [undefined, 1000],
        [0, 100]
      ] as const) {
        const { client, seen } = yield* serving({ version, interval, states: [working] })
        yield* fork(client.callToolByName("add"))
        yield* quiesce
        yield* TestClock.adjust(wait - 1)
        yield* quiesce
        assert.strictEqual(seen.reads, 0)
        yield* TestClock.adjust(1)
        yield* quiesce
        assert.strictEqual(seen.reads, 1)
      }
    })
  )

  it.effect("Task calls have no overall timeout; timeouts apply per request", () =>
    Effect.gen(function* () {
      const states = [...Array.from({ length: 50 }, () => working), completed]
      const { client } = yield* serving({ version, states })
      const call = yield* fork(client.callToolByName("add", {}, { timeout: "1 second", maxTotal: "2 seconds" }))
      assert.deepStrictEqual((yield* ended(call, { steps: 100 })).structuredContent, { sum: 3 })
    })
  )

  it.effect("A call reports its task's messages as progress", () =>
    Effect.gen(function* () {
      const states = [
        ["working", { statusMessage: "half" }],
        ["working", { statusMessage: "half" }],
        completed
      ] as const
      const { client } = yield* serving({
        version,
        states,
        answers: { "tools/call": () => created(version, { statusMessage: "begun" }) }
      })
      const call = yield* fork(Stream.runCollect(client.callToolByNameStream("add")))
      assert.deepStrictEqual(
        (yield* ended(call)).map((event) => (event._tag === "Progress" ? [event.progress, event.message] : event._tag)),
        [[0, "begun"], [0, "half"], "Result"]
      )
    })
  )

  it.effect(
    "A call reports its request's progress, and in a session its task's progress",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* serving({
          version,
          states: [["working", { statusMessage: "half" }]],
          answers: {
            "tools/call": ({ _meta }, { peer }) => {
              const { progressToken } = _meta as { readonly progressToken: unknown }
              peer.notify("notifications/progress", { progressToken, progress: 1, total: 4, message: "begun" })
              return created(version, { statusMessage: "begun" }, 500)
            }
          }
        })
        const events: Array<unknown> = []
        const onProgress = ({ message, progress, total }: ProgressParams) => events.push([progress, total, message])
        const call = yield* fork(client.callToolByName("add", {}, { onProgress }))
        yield* quiesce
        const progressToken = server.requests("tools/call")[0]?.id
        const progress = (progress: number) => server.peer.notify("notifications/progress", { progressToken, progress })
        progress(2)
        yield* quiesce
        yield* TestClock.adjust(500)
        yield* quiesce
        const session = version === "2025-11-25"
        assert.deepStrictEqual(events, [
          [1, 4, "begun"],
          ...(session
            ? [
                [2, undefined, undefined],
                [2, undefined, "half"]
              ]
            : [[1, 4, "half"]])
        ])
        yield* Fiber.interrupt(call)
        progress(3)
        yield* quiesce
        assert.lengthOf(events, session ? 3 : 2)
      }),
    version === "2025-11-25" ? verifies("tasks.progress.token-lives-on") : {}
  )

  it.effect(
    "Interrupting a call sends a cancellation of its task",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* serving({ version, states: [working] })
        const call = yield* fork(client.callToolByName("add"))
        yield* quiesce
        yield* Fiber.interrupt(call)
        assert.deepStrictEqual(
          server.requests("tasks/cancel").map(({ params }) => params?.["taskId"]),
          ["t1"]
        )
        const cancelled = server.heard.filter(
          (message) => "method" in message && message.method === "notifications/cancelled"
        )
        const ids = cancelled.map((message) => ("params" in message ? message.params?.["requestId"] : undefined))
        assert.notInclude(ids, server.requests("tools/call")[0]?.id)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(server.requests("tasks/cancel").length, 1)
      }),
    verifies(version === "2025-11-25" ? "tasks.cancel.not-by-notification" : "tasks-extension.cancel.by-request")
  )

  it.effect("An interrupted call ends within five seconds, even without an answer to its cancellation", () =>
    Effect.gen(function* () {
      const { client, seen } = yield* serving({
        version,
        states: [working],
        answers: { "tasks/cancel": () => Effect.never }
      })
      void seen
      const call = yield* fork(client.callToolByName("add"))
      yield* quiesce
      call.interruptUnsafe()
      yield* quiesce
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(call.pollUnsafe())
    })
  )

  it.effect("A call fails with `TaskCancelled` and the server's message if its task was cancelled", () =>
    Effect.gen(function* () {
      const { client, server } = yield* serving({ version, states: [["cancelled", { statusMessage: "Not today" }]] })
      const call = yield* fork(Effect.flip(client.callToolByName("add")))
      const error = yield* ended(call)
      assert.instanceOf(error, TaskCancelled)
      assert.deepInclude(error, { task: "t1", message: "Not today" })
      assert.notInclude(Modern.methods(server), "tasks/result")
      assert.notInclude(Modern.methods(server), "tasks/cancel")
    })
  )

  it.effect("A call fails with its task's error", () =>
    Effect.gen(function* () {
      const error = { code: -32_099, message: "No paper", data: { tray: 2 } }
      const { client } = yield* serving({
        version,
        states: [["failed", { error }]],
        answers: version === "2025-11-25" ? { "tasks/result": () => Effect.fail(new McpError.McpError(error)) } : {}
      })
      const call = yield* fork(Effect.flip(client.callToolByName("add")))
      const failure = yield* ended(call)
      assert.instanceOf(failure, McpError.McpError)
      assert.deepInclude(failure, error)
    })
  )

  it.effect("A call returns its task's result even if the tool reports a failure", () =>
    Effect.gen(function* () {
      const result = { content: [{ type: "text", text: "No" }], isError: true }
      const { client } = yield* serving({
        version,
        result,
        states: [[version === "2025-11-25" ? "failed" : "completed", { result }]]
      })
      const call = yield* fork(client.callToolByName("add"))
      assert.isTrue((yield* ended(call)).isError)
    })
  )

  it.effect("A call with a malformed task or task result is invalid", () =>
    Effect.gen(function* () {
      const malformed = [{ taskId: 1 }, { status: "asleep" }, { taskId: "" }, { taskId: "x".repeat(2000) }]
      const invalid = (script: Partial<Parameters<typeof serving>[0]>) =>
        Effect.gen(function* () {
          const { client } = yield* serving({ version, ...script })
          const call = yield* fork(Effect.flip(client.callToolByName("add")))
          assert.instanceOf(yield* ended(call), InvalidResult)
        })
      for (const wrong of malformed) yield* invalid({ answers: { "tools/call": () => created(version, wrong) } })
      for (const result of [{ content: 1 }, { resultType: "task", ...state(version, "working") }]) {
        yield* invalid({ result, states: [["completed", { result }]] })
      }
      yield* invalid({ states: [["asleep"]] })
      // The state of another task.
      yield* invalid({ states: [["completed", { taskId: "t2", result: sum }]] })
      if (version === "2026-07-28") yield* invalid({ states: [["completed"]] })
    })
  )

  it.effect("A rate-limited task read is retried after the server's delay", () =>
    Effect.gen(function* () {
      const tooMany = McpError.limitExceeded("Too many requests", { retryAfterMs: 3000 })
      let reads = 0
      const { client } = yield* serving({
        version,
        answers: {
          "tasks/get": () =>
            ++reads < 3 ? Effect.fail(tooMany) : answer(version, state(version, "completed", resultOf(version), 500))
        }
      })
      const call = yield* fork(client.callToolByName("add"))
      const readsAfter = Effect.fnUntraced(function* (millis: number) {
        yield* quiesce
        yield* TestClock.adjust(millis)
        yield* quiesce
        return reads
      })
      assert.deepStrictEqual(
        [yield* readsAfter(500), yield* readsAfter(2999), yield* readsAfter(1), yield* readsAfter(2999)],
        [1, 1, 2, 2]
      )
      assert.isUndefined(call.pollUnsafe())
      yield* readsAfter(1)
      assert.deepStrictEqual((yield* ended(call)).structuredContent, { sum: 3 })
      assert.strictEqual(reads, 3)
    })
  )

  it.effect("A call fails if reading its task exceeds any other limit", () =>
    Effect.gen(function* () {
      const full = McpError.limitExceeded("The server is full")
      const { client } = yield* serving({ version, answers: { "tasks/get": () => Effect.fail(full) } })
      const call = yield* fork(Effect.flip(client.callToolByName("add")))
      assert.deepInclude(yield* ended(call), { code: McpError.LimitExceeded, message: "The server is full" })
    })
  )

  it.effect("A task read is retried after a timeout, at most three times in a row", () =>
    Effect.gen(function* () {
      let reads = 0
      const { client } = yield* serving({
        version,
        answers: { "tasks/get": () => (++reads === 3 ? answer(version, state(version, "working")) : Effect.never) }
      })
      const call = yield* fork(Effect.flip(client.callToolByName("add", {}, { timeout: "1 second" })))
      assert.strictEqual((yield* ended(call))._tag, "Timeout")
      assert.strictEqual(reads, 6)
    })
  )
})
