/**
 * Results of other types, as tasks use them: identified by type in 2026-07-28, by shape in a session. Also requests that an extension
 * changes.
 */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import { InvalidResult } from "@effect-mcp/client/ClientError"
import * as Extension from "@effect-mcp/core/Extension"
import * as Tool from "@effect-mcp/core/Tool"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Version } from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { all, quiesce, since } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { declaring, noted } from "../support/notes.ts"
import { fork, recovering } from "../support/recovering.ts"
import { form, user } from "../support/rounds.ts"
import type * as Scripted from "../support/scripted.ts"

const Jobs = Extension.make("com.example/jobs", {
  requests: {
    get: Extension.request("com.example/jobs/get", {
      params: { job: Schema.String },
      result: { done: Schema.Boolean, result: Schema.optionalKey(Schema.Json), asked: Schema.optionalKey(Schema.Json) },
      readOnly: true
    }),
    answer: Extension.request("com.example/jobs/answer", { params: { answers: Schema.Json } })
  }
})
const { answer: Answer, get: Get } = Jobs.requests

const Add = Tool.make("add", { description: "Adds", input: { a: Schema.Int }, output: { sum: Schema.Int } })
const sum = { content: [], structuredContent: { sum: 3 } }

/** Polls until the job is done, and answers its questions meanwhile. */
const follow: ClientExtension.ResultHandler["follow"] = (result, exchange) => {
  const poll: Effect.Effect<unknown, any> = Effect.gen(function* () {
    const { asked, done, result: final } = yield* exchange.request(Get, { job: String(result["job"]) })
    if (isJsonObject(asked))
      yield* exchange.request(Answer, { answers: (yield* exchange.answer(asked)) as Schema.Json })
    exchange.options.onProgress?.({ progressToken: 0, progress: 1 })
    return done ? final : yield* poll
  })
  return poll
}
const handled = (results: Partial<ClientExtension.ResultHandler> = {}) =>
  ClientExtension.layer(Jobs, {
    results: { resultType: "job", matches: (result) => "job" in result, follow, ...results }
  })

const job = (version: Version) => (version === Modern.version ? { resultType: "job", job: "7" } : { job: "7" })
const result = (version: Version, value: object) => (version === Modern.version ? Modern.complete(value) : value)

const jobs = (version: Version, script: Scripted.Script["answers"] = {}) => {
  let polls = 0
  return {
    version,
    capabilities: declaring(version, Jobs, {}),
    answers: {
      "tools/call": () => job(version),
      [Get.method]: () => result(version, polls++ < 2 ? { done: false } : { done: true, result: sum }),
      ...script
    }
  }
}

describe.each(all)("Custom result types in %s", (version) => {
  const expected = version >= "2025-06-18" ? { sum: 3 } : undefined

  it.effect("A custom result is resolved by its extension to the final result", () =>
    Effect.gen(function* () {
      const { client, server } = yield* noted(jobs(version))
      const events: Array<number> = []
      const named = yield* client.callToolByName(
        "add",
        { a: 1 },
        { onProgress: (event) => events.push(event.progress) }
      )
      assert.deepStrictEqual(named.structuredContent, sum.structuredContent)
      assert.lengthOf(events, 3)
      if (expected !== undefined) assert.deepStrictEqual(yield* client.callTool(Add, { a: 1 }), expected)
      assert.isAtLeast(server.requests(Get.method).length, 3)
      assert.deepStrictEqual(server.requests(Get.method)[0]?.params?.["job"], "7")
    }).pipe(Effect.provide(handled()))
  )

  it.effect("A custom result resolves an extension request, but no undescribed method", () =>
    Effect.gen(function* () {
      const { client } = yield* noted(
        jobs(version, {
          [Answer.method]: () => job(version),
          [Get.method]: () => result(version, { done: true, result: {} })
        })
      )
      assert.deepStrictEqual(yield* client.request(Answer, { answers: 1 }), {})
      assert.deepStrictEqual(yield* client.raw.request(Answer.method), job(version))
    }).pipe(Effect.provide(handled()))
  )

  it.effect(
    "A custom result is invalid unless both sides declared the extension",
    () =>
      Effect.gen(function* () {
        const errorOf = (layer: Layer.Layer<never>, capabilities?: object) =>
          Effect.flatMap(
            noted({ ...jobs(version), ...(capabilities === undefined ? {} : { capabilities }) }),
            ({ client }) => Effect.flip(client.callToolByName("add"))
          ).pipe(Effect.provide(layer))
        assert.instanceOf(yield* errorOf(Layer.empty), InvalidResult)
        assert.instanceOf(yield* errorOf(ClientExtension.layer(Jobs)), InvalidResult)
        assert.instanceOf(yield* errorOf(handled(), { tools: {} }), InvalidResult)
        assert.instanceOf(yield* errorOf(handled({ resultType: "other", matches: () => false })), InvalidResult)
      }),
    verifies("json-rpc.result.type-set")
  )

  it.effect("A custom result that does not resolve to a valid result is invalid", () =>
    Effect.gen(function* () {
      for (const final of [job(version), { content: 1 }, undefined, []]) {
        const { client } = yield* Effect.provide(noted(jobs(version)), handled({ follow: () => Effect.succeed(final) }))
        assert.instanceOf(yield* Effect.flip(client.callToolByName("add")), InvalidResult)
      }
    })
  )

  it.effect("An extension with a throwing `matches` fails only its own call", () =>
    Effect.gen(function* () {
      const { client } = yield* noted(jobs(version, { "tools/list": () => result(version, { tools: [] }) }))
      const exit = yield* Effect.exit(client.callToolByName("add"))
      // Results of 2026-07-28 have a type, so nothing needs to match.
      assert.strictEqual(Exit.isFailure(exit), version !== Modern.version)
      yield* Stream.runCollect(client.listTools)
    }).pipe(
      Effect.provide(
        handled({
          matches: (result) => {
            if ("job" in result) throw new Error("matches")
            return false
          }
        })
      )
    )
  )

  it.effect("Resolving a custom result has no time limit and is interrupted with its caller", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const hanging = handled({
        follow: () =>
          Effect.andThen(Deferred.succeed(reached, undefined), Effect.never).pipe(
            Effect.onExit((exit) => Deferred.succeed(ended, exit))
          )
      })
      const { client, server } = yield* Effect.provide(noted(jobs(version)), hanging)
      const call = yield* fork(client.callToolByName("add", {}, { timeout: "1 second", maxTotal: "2 seconds" }))
      yield* Deferred.await(reached)
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(call.pollUnsafe())
      yield* Fiber.interrupt(call)
      assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
      yield* quiesce
      // The call itself was answered, so there is nothing to cancel.
      assert.notInclude(Modern.methods(server), "notifications/cancelled")
    })
  )

  it.effect("Resolving a custom result continues on the next connection", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: (n) => jobs(version, n === 0 ? { [Get.method]: () => Effect.never } : {})
      })
      const call = yield* fork(client.callToolByName("add"))
      yield* quiesce
      server(0).cut()
      assert.deepStrictEqual((yield* Fiber.join(call)).structuredContent, sum.structuredContent)
      assert.lengthOf(server(1).requests("tools/call"), 0)
    }).pipe(Effect.provide(handled()))
  )

  it.effect("Questions in a custom result are answered by the client's services", () =>
    Effect.gen(function* () {
      let polls = 0
      const { client, server } = yield* noted(
        jobs(version, {
          [Get.method]: () =>
            result(version, polls++ > 0 ? { done: true, result: sum } : { done: false, asked: { q: form("Name?") } }),
          [Answer.method]: () => result(version, {})
        })
      )
      const call = client.callToolByName("add")
      if (version < "2025-06-18") {
        assert.instanceOf(yield* Effect.flip(call), InvalidResult)
        return
      }
      yield* call
      assert.deepStrictEqual(server.requests(Answer.method)[0]?.params?.["answers"], {
        q: { action: "accept", content: { name: "Ada, asked: Name?" } }
      })
    }).pipe(Effect.provide(Layer.merge(handled(), user)))
  )
})

describe.each(since("2025-11-25"))("Requests changed by an extension in %s", (version) => {
  const changing = ClientExtension.layer(Jobs, {
    outgoing: {
      "tools/call": (params, { revision, serverSettings }) =>
        Effect.succeed({ ...params, task: { ttl: 1, version: revision.version, serverSettings } })
    }
  })
  const call = (capabilities: JsonObject, layer: Layer.Layer<never>) =>
    Effect.gen(function* () {
      const answers = {
        "tools/call": () => result(version, { content: [] }),
        "tools/list": () => Modern.complete({ tools: [] })
      }
      const { client, server } = yield* noted({ version, capabilities, answers })
      yield* client.callToolByName("add", { a: 1 }, { meta: { "com.example/x": 1 } })
      yield* client.request("tools/list", {})
      assert.notProperty(server.requests("tools/list")[0]?.params ?? {}, "task")
      return server.requests("tools/call")[0]?.params
    }).pipe(Effect.provide(layer))

  it.effect("A request carries the extension's additions if the server declared the extension", () =>
    Effect.gen(function* () {
      const params = yield* call(declaring(version, Jobs, { slow: true }), changing)
      assert.deepInclude(params, {
        name: "add",
        arguments: { a: 1 },
        task: { ttl: 1, version, serverSettings: { slow: true } }
      })
      assert.deepInclude(params?._meta, { "com.example/x": 1 })
    })
  )

  it.effect("A request is unchanged if the server did not declare the extension", () =>
    Effect.gen(function* () {
      assert.notProperty(yield* call({ tools: {} }, changing), "task")
      assert.notProperty(yield* call(declaring(version, Jobs, {}), Layer.empty), "task")
    })
  )
})
