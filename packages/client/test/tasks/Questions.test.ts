/** Questions of a task, answered by the same services that answer any question, once per key. */
import { Elicitation } from "@effect-mcp/core/Elicitation"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import { InvalidResult } from "@effect-mcp/client/ClientError"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import { fork } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"
import type * as Scripted from "../support/scripted.ts"
import { answer, ended, serving, state, sum } from "../support/tasks.ts"

const form = (message: string) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } }
})
const asks = (...messages: ReadonlyArray<string>) =>
  ["input_required", { inputRequests: Object.fromEntries(messages.map((key) => [key, form(key)])) }] as const
const completed = ["completed", { result: sum }] as const

/** Accepts after a step of the test, and records the questions. */
const user = (asked: Array<string>, until: Effect.Effect<unknown, McpError.McpError> = Effect.void) =>
  Effect.provideService(Elicitation, {
    modes: { form: true, url: false },
    elicit: ({ message }) => {
      asked.push(message)
      return Effect.as(until, { action: "accept", content: {} })
    }
  })
const updates = (server: Scripted.Scripted) =>
  server.requests("tasks/update").map(({ params }) => params?.["inputResponses"] as JsonObject)
const accepted = { action: "accept", content: {} }

describe("2026-07-28 tasks that ask", () => {
  const version = Modern.version

  it.effect(
    "A task that asks receives each answer once, in a separate update",
    () => {
      const asked: Array<string> = []
      return Effect.gen(function* () {
        // The second read arrives before the server has seen the answer to the first question.
        const states = [asks("a"), asks("a", "b"), asks("b"), ["working"], completed] as const
        const { client, server } = yield* serving({ version, states })
        const call = yield* fork(client.callToolByName("add"))
        assert.deepStrictEqual((yield* ended(call)).structuredContent, { sum: 3 })
        assert.deepStrictEqual(asked, ["a", "b"])
        assert.deepStrictEqual(updates(server), [{ a: accepted }, { b: accepted }])
      }).pipe(user(asked))
    },
    verifies(
      "tasks-extension.update.answers",
      "tasks-extension.update.observes-on",
      "tasks-extension.update.deduplicates",
      "tasks-extension.update.once",
      "tasks-extension.update.outstanding-keys"
    )
  )

  it.effect("At most sixteen of a task's questions are answered at once", () => {
    const asked: Array<string> = []
    const one = Deferred.makeUnsafe<void>()
    const names = Array.from({ length: 40 }, (_, n) => `q${n}`)
    return Effect.gen(function* () {
      const states = [asks(...names), asks(...names.slice(0, 17), "q39"), completed] as const
      const { client } = yield* serving({ version, states })
      const call = yield* fork(client.callToolByName("add"))
      yield* quiesce
      yield* TestClock.adjust(500)
      yield* quiesce
      assert.deepStrictEqual(asked, names.slice(0, 16))
      yield* TestClock.adjust(500)
      yield* quiesce
      yield* Deferred.succeed(one, undefined)
      yield* quiesce
      assert.deepStrictEqual(asked, [...names.slice(0, 17), "q39"])
      yield* ended(call)
    }).pipe(user(asked, Deferred.await(one)))
  })

  it.effect("A delayed, older task state does not discard an answer", () => {
    const asked: Array<string> = []
    const one = Deferred.makeUnsafe<void>()
    const names = Array.from({ length: 20 }, (_, n) => `q${n}`)
    return Effect.gen(function* () {
      const states = [asks(...names), ["working"], asks(...names.slice(16)), completed] as const
      const { client } = yield* serving({ version, states })
      const call = yield* fork(client.callToolByName("add"))
      for (let read = 0; read < 2; read++) {
        yield* quiesce
        yield* TestClock.adjust(500)
      }
      yield* quiesce
      yield* Deferred.succeed(one, undefined)
      yield* quiesce
      assert.deepStrictEqual(asked, names.slice(0, 16))
      yield* TestClock.adjust(500)
      yield* quiesce
      assert.deepStrictEqual(asked, names)
      yield* ended(call)
    }).pipe(user(asked, Deferred.await(one)))
  })

  it.effect("A task is polled while its user thinks, and its end withdraws the question", () => {
    const asked: Array<string> = []
    return Effect.gen(function* () {
      const { client, seen, server } = yield* serving({ version, states: [asks("a"), asks("a"), asks("a"), completed] })
      const call = yield* fork(client.callToolByName("add"))
      yield* ended(call)
      assert.strictEqual(seen.reads, 4)
      assert.deepStrictEqual(asked, ["a"])
      assert.deepStrictEqual(updates(server), [])
    }).pipe(user(asked, Effect.never))
  })

  it.effect(
    "A task that asks an undeclared question fails its call with the rejection",
    () =>
      Effect.gen(function* () {
        const undeclared = yield* serving({ version, states: [asks("a")] })
        const call = yield* fork(Effect.flip(undeclared.client.callToolByName("add")))
        assert.instanceOf(yield* ended(call), InvalidResult)
        assert.strictEqual(undeclared.server.requests("tasks/cancel").length, 1)
        const refusal = new McpError.McpError({ code: -32_000, message: "No user" })
        const refusing = yield* serving({ version, states: [asks("a")] }).pipe(user([], Effect.fail(refusal)))
        const failing = yield* fork(Effect.flip(refusing.client.callToolByName("add")))
        assert.deepInclude(yield* ended(failing), { code: -32_000, message: "No user" })
        assert.strictEqual(refusing.server.requests("tasks/cancel").length, 1)
      }),
    verifies("tasks-extension.update.same-trust")
  )

  it.effect("An answer is resent if its update timed out", () =>
    Effect.gen(function* () {
      let updates = 0
      const { client } = yield* serving({
        version,
        answers: {
          "tasks/get": () => {
            const [status, more] = updates > 1 ? completed : asks("a")
            return answer(version, state(version, status, more, 500))
          },
          "tasks/update": () => (++updates === 1 ? Effect.never : answer(version, {}))
        }
      })
      const call = yield* fork(client.callToolByName("add", {}, { timeout: "2 seconds" }))
      yield* ended(call)
      assert.strictEqual(updates, 2)
    }).pipe(user([]))
  )

  it.effect("A task is cancelled after a thousand questions", () => {
    const asked: Array<string> = []
    return Effect.gen(function* () {
      const many = (from: number) => asks(...Array.from({ length: 400 }, (_, i) => `${from + i}`))
      const { client, server } = yield* serving({ version, states: [many(0), many(400), many(800)] })
      const call = yield* fork(Effect.flip(client.callToolByName("add")))
      assert.instanceOf(yield* ended(call), InvalidResult)
      assert.strictEqual(asked.length, 800)
      assert.strictEqual(server.requests("tasks/cancel").length, 1)
    }).pipe(user(asked))
  })
})

describe("2025-11-25 tasks that ask", () => {
  const version = "2025-11-25"
  const related = { _meta: { "io.modelcontextprotocol/related-task": { taskId: "t1" } } }

  it.effect(
    "A session task asks on the stream of its result request",
    () => {
      const asked: Array<string> = []
      return Effect.gen(function* () {
        const reply = yield* Deferred.make<unknown>()
        const { client, server } = yield* serving({
          version,
          states: [["working"], ["input_required"]],
          answers: {
            "tasks/result": (_params, { peer, request }) =>
              peer.request("elicitation/create", { ...form("a").params, ...related }, { relatedTo: request.id }).pipe(
                Effect.orDie,
                Effect.tap((value) => Deferred.succeed(reply, value)),
                Effect.as({ ...sum, ...related })
              )
          }
        })
        const ids: Array<unknown> = []
        const call = yield* fork(client.callToolByName("add", {}, { onSend: (id) => ids.push(id) }))
        assert.deepStrictEqual((yield* ended(call)).structuredContent, { sum: 3 })
        assert.deepStrictEqual(ids, [server.requests("tools/call")[0]?.id, server.requests("tasks/result")[0]?.id])
        assert.deepStrictEqual(yield* Deferred.await(reply), { ...accepted, ...related })
        assert.deepStrictEqual(asked, ["a"])
        const [fetched, ...more] = server.requests("tasks/result")
        assert.deepStrictEqual(fetched?.params, { taskId: "t1" })
        assert.deepStrictEqual(more, [])
      }).pipe(user(asked))
    },
    verifies("tasks.input.requestor-calls-result", "tasks.related.not-in-requests", "tasks.related.key")
  )

  it.effect(
    "A task's question can arrive on any stream while the task is polled",
    () => {
      const asked: Array<string> = []
      return Effect.gen(function* () {
        const { client, seen, server } = yield* serving({
          version,
          states: [["working"], ["input_required"]],
          answers: { "tasks/result": () => Effect.never }
        })
        const call = yield* fork(client.callToolByName("add"))
        yield* quiesce
        yield* TestClock.adjust("1 second")
        const reply = yield* fork(server.peer.request("elicitation/create", { ...form("a").params, ...related }))
        assert.deepStrictEqual(yield* Fiber.join(reply), { ...accepted, ...related })
        yield* TestClock.adjust("1 second")
        yield* quiesce
        assert.isAtLeast(seen.reads, 2)
        yield* Fiber.interrupt(call)
      }).pipe(user(asked))
    },
    verifies("tasks.http.any-stream")
  )

  it.effect("A finished task whose result never arrives fails with its call's timeout", () => {
    const asked: Array<string> = []
    return Effect.gen(function* () {
      for (const states of [[["completed"]], [["input_required"], ["completed"]]] as const) {
        const { client, server } = yield* serving({
          version,
          states,
          answers: { "tasks/result": () => Effect.never }
        })
        const call = yield* fork(client.callToolByName("add", {}, { timeout: "20 seconds" }))
        yield* quiesce
        for (let i = 0; i < 40; i++) yield* Effect.andThen(TestClock.adjust("1 second"), quiesce)
        const exit = call.pollUnsafe()
        assert.isTrue(exit !== undefined && Exit.isFailure(exit))
        assert.lengthOf(server.requests("tasks/result"), states.length)
      }
    }).pipe(user(asked))
  })
})
