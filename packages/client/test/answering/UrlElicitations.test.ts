import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connected, quiesce } from "../support/connected.ts"
import type { Scripted } from "../support/scripted.ts"

const page = (elicitationId: string, url = `https://example.com/${elicitationId}`) => ({
  mode: "url",
  message: "Sign in",
  url,
  elicitationId
})
const required = (...elicitations: ReadonlyArray<object>) =>
  new McpError.McpError({ code: -32042, message: "Sign in first", data: { elicitations } })
const complete = (server: Scripted, elicitationId: string) =>
  server.peer.notify("notifications/elicitation/complete", { elicitationId })

/** A user that answers URL elicitations one by one. */
const user = Effect.gen(function* () {
  const asked = yield* Queue.unbounded<string>()
  const answers = yield* Queue.unbounded<ElicitResult["action"]>()
  return {
    asked: Queue.take(asked),
    answer: (action: ElicitResult["action"]) => Queue.offer(answers, action),
    layer: Elicitation.layer({
      url: (params) =>
        Effect.andThen(
          Queue.offer(asked, params.url),
          Effect.map(Queue.take(answers), (action) => ({ action }))
        )
    })
  }
})

const refusing = (error: McpError.McpError, times = 1) => {
  let left = times
  return () => (left-- > 0 ? Effect.fail(error) : { content: [], contents: [], messages: [] })
}

describe.each(["2025-11-25"] as const)("%s requests that require visiting URLs first", (version) => {
  it.effect("A request is retried once the user agrees and the server completes every URL", () =>
    Effect.gen(function* () {
      const ada = yield* user
      const { client, server } = yield* connected({
        version,
        answers: { "tools/call": refusing(required(page("a"), page("b"))) }
      }).pipe(Effect.provide(ada.layer))
      const call = yield* Effect.forkChild(client.callToolByName("x", { n: 1 }))
      assert.strictEqual(yield* ada.asked, "https://example.com/a")
      // Completed before the dialogue ends.
      complete(server, "a")
      yield* ada.answer("accept")
      assert.strictEqual(yield* ada.asked, "https://example.com/b")
      yield* ada.answer("accept")
      yield* quiesce
      assert.isUndefined(call.pollUnsafe())
      complete(server, "b")
      assert.deepStrictEqual((yield* Fiber.join(call)).content, [])
      const [first, second, ...more] = server.requests("tools/call")
      assert.notStrictEqual(first?.id, second?.id)
      assert.deepStrictEqual(first?.params?.arguments, second?.params?.arguments)
      assert.deepStrictEqual(more, [])
    })
  )

  it.effect("A read or a prompt request is retried too", () =>
    Effect.gen(function* () {
      const ada = yield* user
      const { client, server } = yield* connected({
        version,
        answers: { "resources/read": refusing(required(page("a"))), "prompts/get": refusing(required(page("b"))) }
      }).pipe(Effect.provide(ada.layer))
      const visits = <A, E>(id: string, request: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(request)
          yield* ada.asked
          yield* ada.answer("accept")
          complete(server, id)
          yield* Fiber.join(fiber)
        })
      yield* visits("a", client.readResource("a:"))
      yield* visits("b", client.getPromptByName("p"))
    })
  )

  it.effect("A request that fails again after its retry keeps the error", () =>
    Effect.gen(function* () {
      const ada = yield* user
      const { client, server } = yield* connected({
        version,
        answers: { "tools/call": refusing(required(page("a")), 2) }
      }).pipe(Effect.provide(ada.layer))
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("x")))
      yield* ada.asked
      yield* ada.answer("accept")
      complete(server, "a")
      assert.strictEqual(((yield* Fiber.join(call)) as McpError.McpError).code, -32042)
      assert.strictEqual(server.requests("tools/call").length, 2)
    })
  )

  it.effect.each(["decline", "cancel"] as const)("A request keeps its error if the user's answer is %s", (action) =>
    Effect.gen(function* () {
      const ada = yield* user
      const { client, server } = yield* connected({
        version,
        answers: { "tools/call": refusing(required(page("a"), page("b"))) }
      }).pipe(Effect.provide(ada.layer))
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("x")))
      yield* ada.asked
      yield* ada.answer(action)
      assert.strictEqual(((yield* Fiber.join(call)) as McpError.McpError).code, -32042)
      assert.strictEqual(server.requests("tools/call").length, 1)
    })
  )

  it.effect("A request keeps its error if the URLs are not completed in time", () =>
    Effect.gen(function* () {
      const ada = yield* user
      const { client } = yield* connected(
        { version, answers: { "tools/call": refusing(required(page("a"))) } },
        { urlTimeout: "5 minutes" }
      ).pipe(Effect.provide(ada.layer))
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("x")))
      yield* ada.asked
      yield* ada.answer("accept")
      yield* quiesce
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(((yield* Fiber.join(call)) as McpError.McpError).code, -32042)
    })
  )

  it.effect("A request keeps its error if its list of URLs is malformed", () =>
    Effect.gen(function* () {
      const ada = yield* user
      const bad = [{ elicitations: "none" }, { elicitations: [page("a", "javascript:alert(1)")] }, undefined]
      for (const data of bad) {
        const error = new McpError.McpError({ code: -32042, message: "No", data })
        const { client } = yield* connected({ version, answers: { "tools/call": refusing(error) } }).pipe(
          Effect.provide(ada.layer)
        )
        assert.strictEqual(((yield* Effect.flip(client.callToolByName("x"))) as McpError.McpError).code, -32042)
      }
    })
  )

  it.effect("A request keeps its error if the client cannot show URLs", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers: { "tools/call": refusing(required(page("a"))) } })
      assert.strictEqual(((yield* Effect.flip(client.callToolByName("x"))) as McpError.McpError).code, -32042)
      assert.strictEqual(server.requests("tools/call").length, 1)
    })
  )

  it.effect(
    "The completion of a URL is announced once, and only for known ids",
    () =>
      Effect.gen(function* () {
        const ada = yield* user
        const { client, server } = yield* connected({ version }).pipe(Effect.provide(ada.layer))
        const done: Array<string> = []
        yield* Effect.forkChild(
          Stream.runForEach(client.elicitationsCompleted, (id) => Effect.sync(() => done.push(id))),
          { startImmediately: true }
        )
        const ask = (id: string, action: ElicitResult["action"]) =>
          Effect.gen(function* () {
            const question = yield* Effect.forkChild(server.peer.request("elicitation/create", page(id)))
            yield* ada.asked
            yield* ada.answer(action)
            yield* Fiber.join(question)
          })
        yield* ask("a", "accept")
        yield* ask("b", "decline")
        for (const id of ["unknown", "a", "a", "b"]) complete(server, id)
        yield* client.ping
        yield* quiesce
        assert.deepStrictEqual(done, ["a"])
      }),
    verifies("elicitation.complete.unknown-ignored")
  )
})
