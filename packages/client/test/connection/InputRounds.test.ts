import { Requester } from "@effect-mcp/client/Requester"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"
import { asks, calls, done, form, host, page, places, rounds, said, thought } from "../support/rounds.ts"

const without = (params: JsonRpc.Params | undefined) => {
  const { _meta: _, ...rest } = params ?? {}
  return rest
}

describe("2026-07-28 requests answered with questions", () => {
  it.effect(
    "A request is resent with the answers of the same services as in a session",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(
          rounds(asks({ a: form("Name?"), b: thought, c: places, d: page() }, "state-1"), done)
        )
        const result = yield* client.callToolByName("t", { x: 1 })
        assert.deepStrictEqual(result.content, [{ type: "text", text: "done" }])
        const [first, second] = calls(server)
        assert.deepStrictEqual(without(first?.params), { name: "t", arguments: { x: 1 } })
        assert.deepStrictEqual(without(second?.params), {
          name: "t",
          arguments: { x: 1 },
          requestState: "state-1",
          inputResponses: {
            a: { action: "accept", content: { name: "Ada, asked: Name?" } },
            b: said,
            c: { roots: [{ uri: "file:///home/ada" }] },
            d: { action: "accept" }
          }
        })
        assert.notStrictEqual(first?.id, second?.id)
        assert.deepStrictEqual(
          { ...(first?.params?._meta as object), progressToken: 0 },
          { ...(second?.params?._meta as object), progressToken: 0 }
        )
      }).pipe(Effect.provide(host)),
    verifies("mrtr.client.answers-all", "mrtr.client.state-echoed", "mrtr.client.new-id")
  )

  it.effect("A read or a prompt can also be answered with questions", () =>
    Effect.gen(function* () {
      const answered =
        (result: object): Scripted.Answer =>
        ({ inputResponses }) =>
          inputResponses === undefined ? asks({ c: places }) : Modern.complete(result)
      const { client } = yield* Modern.connected({
        answers: {
          "resources/read": answered({ contents: [{ uri: "a:b", text: "text" }], ttlMs: 0, cacheScope: "private" }),
          "prompts/get": answered({ messages: [] })
        }
      })
      assert.strictEqual(yield* client.readResourceText("a:b"), "text")
      assert.deepStrictEqual((yield* client.getPromptByName("p")).messages, [])
    }).pipe(Effect.provide(host))
  )

  it.effect("Questions of one round are answered concurrently", () =>
    Effect.gen(function* () {
      const met = yield* Deferred.make<void>()
      const waiting = Elicitation.layer({
        form: () => Effect.as(Deferred.await(met), { action: "accept" as const, content: {} })
      })
      const meeting = Sampling.layer(() => Effect.as(Deferred.succeed(met, undefined), said))
      const { client, server } = yield* Modern.connected(rounds(asks({ a: form("?"), b: thought }), done)).pipe(
        Effect.provide([waiting, meeting])
      )
      yield* client.callToolByName("t")
      assert.strictEqual(calls(server).length, 2)
    })
  )

  it.effect("The user sees which server is asking", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const note = Effect.map(Requester, (asker) => void heard.push(asker))
      const asked = Layer.mergeAll(
        Elicitation.layer({ form: () => Effect.as(note, { action: "decline" as const }) }),
        Sampling.layer(() => Effect.as(note, said)),
        Layer.succeed(Roots, { list: Effect.as(note, []), changes: undefined })
      )
      const { client } = yield* Modern.connected(rounds(asks({ a: form("?"), b: thought, c: places }), done)).pipe(
        Effect.provide(asked)
      )
      yield* client.callToolByName("t")
      assert.deepStrictEqual(
        heard,
        ["a", "b", "c"].map((key) => ({ server: Scripted.info, relatedTo: undefined, key }))
      )
    })
  )

  it.effect.each(["", " ", '\u0000\ud83d\ude42\u2028\\"', '{"a": 1}', "x".repeat(100_000), "e\u0301"])(
    "The state is returned unchanged, case %#",
    (state) =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(rounds(asks(undefined, state), done))
        yield* client.callToolByName("t")
        assert.strictEqual(calls(server)[1]?.params?.requestState, state)
        assert.notProperty(calls(server)[1]?.params, "inputResponses")
      }),
    verifies("mrtr.state.opaque", "mrtr.client.state-echoed")
  )

  it.effect(
    "A request whose round has no state is resent without state",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(
          rounds(asks({ c: places }, "first"), asks({ c: places }), asks({ d: places }, "third"), done)
        )
        yield* client.callToolByName("t")
        assert.deepStrictEqual(
          calls(server).map(({ params }) => params?.requestState),
          [undefined, "first", undefined, "third"]
        )
        assert.deepStrictEqual(
          calls(server).map(({ params }) => params?.inputResponses && Object.keys(params.inputResponses)),
          [undefined, ["c"], ["c"], ["d"]]
        )
      }).pipe(Effect.provide(host)),
    verifies("mrtr.client.state-not-invented")
  )

  it.effect(
    "Answers and state are sent only with their own request",
    () =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const agree = yield* Deferred.make<void>()
        const slow = Elicitation.layer({
          form: () =>
            Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(agree)), {
              action: "accept" as const,
              content: {}
            })
        })
        const { client, server } = yield* Modern.connected({
          answers: {
            "tools/call": ({ inputResponses, name }) =>
              name === "asks" && inputResponses === undefined ? asks({ a: form("?") }, "secret") : done
          }
        }).pipe(Effect.provide(slow))
        const call = yield* Effect.forkChild(client.callToolByName("asks"), { startImmediately: true })
        yield* Deferred.await(asked)
        yield* client.callToolByName("other")
        yield* client.callToolByName("asks2")
        yield* Deferred.succeed(agree, undefined)
        yield* Fiber.join(call)
        for (const { params } of calls(server).slice(0, 3)) {
          assert.notProperty(params, "requestState")
          assert.notProperty(params, "inputResponses")
        }
        assert.strictEqual(calls(server)[3]?.params?.name, "asks")
        assert.strictEqual(calls(server)[3]?.params?.requestState, "secret")
      }),
    verifies("mrtr.client.only-retry")
  )

  it.effect("Question keys are preserved", () =>
    Effect.gen(function* () {
      const keys = ["__proto__", "constructor", "", "0", "\ud83d\ude42"]
      const questions = JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}: ${JSON.stringify(places)}`).join()}}`)
      const { client, server } = yield* Modern.connected(rounds(asks(questions), done))
      yield* client.callToolByName("t")
      assert.sameMembers(Object.keys(calls(server)[1]?.params?.inputResponses as object), keys)
    }).pipe(Effect.provide(host))
  )

  it.effect("A request is abandoned after the maximum number of rounds", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected(rounds(asks(undefined, "again")), { maxRounds: 3 })
      const error = yield* Effect.flip(client.callToolByName("t"))
      assert.strictEqual(error._tag, "InvalidResult")
      if (error._tag === "InvalidResult") assert.deepStrictEqual(error.result, asks(undefined, "again"))
      assert.strictEqual(calls(server).length, 4)
    })
  )

  it.effect("A request can take as many rounds as the client allows", () =>
    Effect.gen(function* () {
      const again = asks(undefined, "again")
      const { client, server } = yield* Modern.connected(rounds(again, again, again, done), { maxRounds: 3 })
      yield* client.callToolByName("t")
      assert.strictEqual(calls(server).length, 4)
    })
  )
})

it.effect("Progress in 2026-07-28 never decreases, even though each round starts over", () =>
  Effect.gen(function* () {
    let round = 0
    const { client, server } = yield* Modern.connected({
      answers: {
        "tools/call": (params, { peer }) => {
          const { progressToken } = params._meta as { readonly progressToken: JsonRpc.Id }
          for (const progress of [1, 2, 2 + round]) peer.notify("notifications/progress", { progressToken, progress })
          return round++ < 2 ? asks(undefined, "s") : done
        }
      }
    })
    const seen: Array<number> = []
    yield* client.callToolByName("t", {}, { onProgress: ({ progress }) => void seen.push(progress) })
    assert.deepStrictEqual(seen, [1, 2, 3, 4])
    const tokens = calls(server).map((call) => Modern.declared(call, "progressToken"))
    assert.strictEqual(new Set(tokens).size, 3)
  })
)
