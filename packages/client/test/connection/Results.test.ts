/** Results and errors of 2026-07-28, and questions that its servers must not ask. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import type * as Scripted from "../support/scripted.ts"

const cacheable = { ttlMs: 0, cacheScope: "private" }

const answers: NonNullable<Scripted.Script["answers"]> = {
  "tools/list": () => Modern.complete({ tools: [], ...cacheable }),
  "prompts/list": () => Modern.complete({ prompts: [], ...cacheable }),
  "resources/list": () => Modern.complete({ resources: [], ...cacheable }),
  "resources/templates/list": () => Modern.complete({ resourceTemplates: [], ...cacheable }),
  "resources/read": () => Modern.complete({ contents: [{ uri: "a:b", text: "text" }], ...cacheable }),
  "prompts/get": () => Modern.complete({ messages: [] }),
  "completion/complete": () => Modern.complete({ completion: { values: [] } }),
  "tools/call": () => Modern.complete({ content: [] })
}

describe("Results in 2026-07-28", () => {
  it.effect(
    "A result without a type is complete",
    () =>
      Effect.gen(function* () {
        const { client } = yield* Modern.connected({
          answers: {
            "tools/call": () => ({ content: [{ type: "text", text: "old" }] }),
            "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] })
          }
        })
        assert.deepStrictEqual((yield* client.callToolByName("t")).content, [{ type: "text", text: "old" }])
        assert.strictEqual((yield* Stream.runCollect(client.listTools)).length, 1)
      }),
    verifies("json-rpc.result.type-absent")
  )

  it.effect.each([["task"], ["Complete"], [""], [null], [1]] as const)(
    "A result with an unknown type is invalid: %j",
    ([resultType]) =>
      Effect.gen(function* () {
        const result = { resultType, content: [] }
        const { client } = yield* Modern.connected({ answers: { "tools/call": () => result } })
        const error = yield* Effect.flip(client.callToolByName("t"))
        assert.strictEqual(error._tag, "InvalidResult")
        if (error._tag === "InvalidResult") assert.deepStrictEqual(error.result, result)
      }),
    verifies("json-rpc.result.type-unknown", "json-rpc.result.type-set")
  )

  it.effect("The error for a malformed result includes the result", () =>
    Effect.gen(function* () {
      const { client } = yield* Modern.connected({ answers: { "tools/call": () => Modern.complete({ content: 1 }) } })
      const error = yield* Effect.flip(client.callToolByName("t"))
      assert.deepStrictEqual(error._tag === "InvalidResult" && error.result, Modern.complete({ content: 1 }))
    })
  )

  it.effect.each([-32000, -32001, -32010, -32019])(
    "A legacy-range error is an ordinary error: %i",
    (code) =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected({
          answers: { "tools/call": () => Effect.fail(new McpError.McpError({ code, message: "Once upon a time" })) }
        })
        const error = yield* Effect.flip(client.callToolByName("t"))
        assert.strictEqual(error._tag === "McpError" && error.code, code)
        yield* client.ping
        assert.deepStrictEqual(Modern.methods(server), ["server/discover", "tools/call", "server/discover"])
      }),
    verifies("json-rpc.error.legacy-no-meaning")
  )

  it.effect("Error -32042 is an ordinary error in the stateless era", () =>
    Effect.gen(function* () {
      let visits = 0
      const user = Elicitation.layer({ url: () => Effect.sync(() => (visits++, { action: "accept" as const })) })
      const elicitations = [{ mode: "url", message: "Pay", url: "https://a.example/", elicitationId: "1" }]
      const { client, server } = yield* Modern.connected({
        answers: {
          "tools/call": () =>
            Effect.fail(new McpError.McpError({ code: -32042, message: "Visit", data: { elicitations } }))
        }
      }).pipe(Effect.provide(user))
      const error = yield* Effect.flip(client.callToolByName("t"))
      assert.strictEqual(error._tag === "McpError" && error.code, -32042)
      assert.strictEqual(visits, 0)
      assert.strictEqual(server.requests("tools/call").length, 1)
    })
  )
})

describe("2026-07-28 servers", () => {
  it.effect(
    "A server request in the stateless era gets no answer, not even a ping",
    () =>
      Effect.gen(function* () {
        const dropped: Array<string> = []
        const host = Layer.mergeAll(
          Elicitation.layerAccept(),
          Roots.layerStatic([]),
          Sampling.layer(() => Effect.die("asked"))
        )
        const { client, server } = yield* Modern.connected(
          { answers },
          { dropped: (reason) => dropped.push(reason) }
        ).pipe(Effect.provide(host))
        for (const method of ["ping", "roots/list", "sampling/createMessage", "no/such"]) {
          yield* Effect.forkScoped(server.peer.request(method), { startImmediately: true })
        }
        yield* quiesce
        yield* client.ping
        assert.isFalse(server.heard.some(JsonRpc.isResponse))
        assert.strictEqual(dropped.filter((reason) => reason.includes("request")).length, 4)
      }),
    verifies("stdio.client.no-responses")
  )

  it.effect(
    "Interrupting a caller sends a cancellation to a stateless server",
    () =>
      Effect.gen(function* () {
        const reached = yield* Deferred.make<void>()
        const { client, server } = yield* Modern.connected({
          answers: { "tools/call": () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) }
        })
        const call = yield* Effect.forkChild(client.callToolByName("t"), { startImmediately: true })
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(call)
        const notification = yield* server.notification
        assert.notProperty(notification, "id")
        const { method, params } = notification
        assert.strictEqual(method, "notifications/cancelled")
        assert.strictEqual(params?.requestId, server.requests("tools/call")[0]?.id)
      }),
    verifies("cancellation.stdio.notification", "cancellation.client.sent", "json-rpc.notification.no-id")
  )
})
