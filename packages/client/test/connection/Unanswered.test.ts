/**
 * Questions during requests of 2026-07-28 that get no answer, because the server may not ask or the client cannot answer.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { asks, calls, done, form, host, model, page, places, rounds, thought } from "../support/rounds.ts"

describe("2026-07-28 questions that must not be asked", () => {
  const malformed: ReadonlyArray<readonly [string, object]> = [
    ["neither questions nor state", asks(undefined)],
    ["a list", asks([form("?")])],
    ["no method", asks({ a: { params: {} } })],
    ["another method", asks({ a: { method: "tools/call", params: { name: "x" } } })],
    ["no message", asks({ a: { method: "elicitation/create", params: { mode: "form" } } })],
    [
      "a nested form",
      asks({
        a: {
          method: "elicitation/create",
          params: { message: "?", requestedSchema: { type: "object", properties: { a: { type: "object" } } } }
        }
      })
    ],
    ["a page without a URL", asks({ a: { method: "elicitation/create", params: { mode: "url", message: "?" } } })],
    ["a page with a javascript: URL", asks({ a: page("javascript:alert(1)") })],
    ["a non-string state", { ...asks({ a: places }), requestState: 1 }]
  ]
  it.effect.each(malformed)("A malformed round of questions is an invalid result: %s", ([, result]) =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected(rounds(result, done))
      const error = yield* Effect.flip(client.callToolByName("t"))
      assert.strictEqual(error._tag, "InvalidResult")
      if (error._tag === "InvalidResult") assert.deepStrictEqual(error.result, result)
      assert.strictEqual(calls(server).length, 1)
    }).pipe(Effect.provide(host))
  )

  const forms = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: {} }) })
  const pages = Elicitation.layer({ url: () => Effect.succeed({ action: "accept" }) })
  const undeclared: ReadonlyArray<
    readonly [string, object, Layer.Layer<never> | Layer.Layer<Elicitation.Elicitation | Sampling.Sampling>]
  > = [
    ["a form without a user", form("?"), Layer.empty],
    ["a sampling request without a model", thought, Layer.empty],
    ["roots without roots", places, Layer.empty],
    ["a page for a form-only client", page(), forms],
    ["a form for a page-only client", form("?"), pages],
    ["tools for a model without tool support", { ...thought, params: { ...thought.params, tools: [] } }, model]
  ]
  it.effect.each(undeclared)(
    "A question the client did not declare fails the request: %s",
    ([, question, services]) =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(rounds(asks({ a: question }), done)).pipe(
          Effect.provide(services as Layer.Layer<never>)
        )
        assert.strictEqual((yield* Effect.flip(client.callToolByName("t")))._tag, "InvalidResult")
        assert.strictEqual(calls(server).length, 1)
      }),
    verifies("elicitation.error.undeclared-mode")
  )

  it.effect(
    "Questions are rejected in the result of any request except calls, reads and prompts",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected({
          answers: { "completion/complete": () => asks({ a: places }, "s") }
        })
        const error = yield* Effect.flip(
          client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
        )
        assert.strictEqual(error._tag, "InvalidResult")
        assert.strictEqual(server.requests("completion/complete").length, 1)
      }).pipe(Effect.provide(host)),
    verifies("mrtr.result.supported-methods")
  )
})

describe("Unanswered questions in 2026-07-28", () => {
  it.effect("A user who rejects a question fails the request and stops the other questions", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const never = Elicitation.layer({
        form: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      })
      const refusing = Sampling.layer(() => Effect.fail(Sampling.rejected()))
      const { client, server } = yield* Modern.connected(rounds(asks({ a: form("?"), b: thought }), done)).pipe(
        Effect.provide([never, refusing])
      )
      const error = yield* Effect.flip(client.callToolByName("t"))
      assert.strictEqual(error._tag === "McpError" ? error.code : error._tag, -1)
      yield* Deferred.await(stopped)
      assert.strictEqual(calls(server).length, 1)
    })
  )

  it.effect("A declined form is an answer", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected(rounds(asks({ a: form("?") }), done))
      yield* client.callToolByName("t")
      assert.deepStrictEqual(calls(server)[1]?.params?.inputResponses, { a: { action: "decline" } })
    }).pipe(Effect.provide(Elicitation.layerDecline))
  )

  const patient = Effect.gen(function* () {
    const asked = yield* Deferred.make<void>()
    const stopped = yield* Deferred.make<void>()
    const layer = Elicitation.layer({
      form: () =>
        Effect.andThen(
          Deferred.succeed(asked, undefined),
          Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
        )
    })
    const connected = yield* Modern.connected(rounds(asks({ a: form("?") }), done)).pipe(Effect.provide(layer))
    return { ...connected, asked, stopped }
  })

  it.effect("A question ends without an answer when its caller leaves", () =>
    Effect.gen(function* () {
      const { asked, client, server, stopped } = yield* patient
      const call = yield* Effect.forkChild(client.callToolByName("t"), { startImmediately: true })
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(stopped)
      yield* quiesce
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "tools/call"])
    })
  )

  it.effect("A question times out after ten minutes", () =>
    Effect.gen(function* () {
      const { asked, client, stopped } = yield* patient
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("t", {}, { timeout: "1 second" })), {
        startImmediately: true
      })
      yield* Deferred.await(asked)
      yield* TestClock.adjust("9 minutes")
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(call))._tag, "Timeout")
      yield* Deferred.await(stopped)
    })
  )

  it.effect("A retry after a round can be cancelled like any request", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const { client, server } = yield* Modern.connected({
        answers: {
          "tools/call": ({ requestState }) =>
            requestState === undefined
              ? asks(undefined, "s")
              : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
        }
      })
      const call = yield* Effect.forkChild(client.callToolByName("t"), { startImmediately: true })
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(call)
      const { method, params } = yield* server.notification
      assert.strictEqual(method, "notifications/cancelled")
      assert.strictEqual(params?.requestId, calls(server)[1]?.id)
    })
  )
})
