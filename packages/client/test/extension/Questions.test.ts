/** Questions of an extension: a server request in a session, part of a result in 2026-07-28. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { Requester } from "@effect-mcp/client/Requester"
import * as Extension from "@effect-mcp/core/Extension"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { refused } from "../support/asking.ts"
import { all, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { noted, Notes, result } from "../support/notes.ts"
import { fork } from "../support/recovering.ts"
import { asks, form, user } from "../support/rounds.ts"
import type * as Scripted from "../support/scripted.ts"

const { method } = Notes.questions.pick
const Find = Notes.requests.find

class Taste extends Context.Service<Taste, { readonly first: number }>()("test/Taste") {}

const picking = ClientExtension.layer(Notes, {
  questions: {
    pick: ({ ids }) =>
      Effect.gen(function* () {
        const { first } = yield* Taste
        const server = (yield* Requester)?.server.name
        assert.strictEqual(server, "scripted")
        if (ids.length === 0) return yield* Effect.fail({ none: true })
        return { id: first + (ids[0] ?? 0) }
      })
  }
}).pipe(Layer.provide(Layer.succeed(Taste, { first: 100 })))

/** A client with a server that asks it in the way of its era, by a request of the extension itself. */
const asker = Effect.fnUntraced(function* (version: McpClient.Client["revision"]["version"], capabilities?: object) {
  const answers: Scripted.Script["answers"] = {
    [Find.method]: ({ inputResponses, text }) =>
      inputResponses === undefined
        ? asks({ q: JSON.parse(text as string) })
        : result({ ids: [(inputResponses as { readonly q: { readonly id: number } }).q.id] })
  }
  const { client, server } = yield* noted({ version, answers, capabilities })
  const ask = (method: string, params?: object): Effect.Effect<unknown, { readonly _tag: string }> =>
    version === Modern.version
      ? Effect.map(
          Effect.mapError(client.request(Find, { text: JSON.stringify({ method, params }) }), (error) =>
            "_tag" in error ? error : { _tag: "tooShort" }
          ),
          ({ ids: [id] }) => ({ id })
        )
      : server.peer.request(method, params as never)
  return { client, server, ask }
})

const codeOf = (error: { readonly _tag: string }) => (error instanceof McpError.McpError ? error.code : error._tag)

describe.each(all)("Extension questions in %s", (version) => {
  it.effect("An extension question is answered by its layer's handler", () =>
    Effect.gen(function* () {
      const { ask } = yield* asker(version)
      assert.deepStrictEqual(yield* ask(method, { ids: [7] }), { id: 107 })
      // The same question again counts as another one.
      assert.deepStrictEqual(yield* ask(method, { ids: [7] }), { id: 107 })
    }).pipe(Effect.provide(picking))
  )

  it.effect("An extension question fails with an error in a session, and in _meta otherwise", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* asker(version)
      const failure = { [Extension.failureKey]: { none: true } }
      const exit = yield* Effect.exit(ask(method, { ids: [] }))
      if (version === Modern.version) {
        const { inputResponses } = server.requests(Find.method)[1]?.params ?? {}
        assert.deepStrictEqual(inputResponses, { q: { _meta: failure } })
        return
      }
      const error = yield* Effect.flip(exit)
      assert.strictEqual(codeOf(error), Extension.failureCode)
      assert.deepInclude(error, { data: failure } as object)
    }).pipe(Effect.provide(picking))
  )

  it.effect("An extension question with malformed params is rejected without calling the handler", () =>
    Effect.gen(function* () {
      const { ask } = yield* asker(version)
      const error = yield* Effect.flip(ask(method, { ids: "x" }))
      assert.strictEqual(codeOf(error), refused(version, McpError.InvalidParams))
    }).pipe(Effect.provide(picking))
  )

  it.effect("An extension question without a matching handler is rejected", () =>
    Effect.gen(function* () {
      const code = (layer: Layer.Layer<never>, name = method, capabilities?: object) =>
        Effect.gen(function* () {
          const { ask } = yield* asker(version, capabilities)
          return codeOf(yield* Effect.flip(ask(name, { ids: [1] })))
        }).pipe(Effect.provide(layer))
      const unknown = refused(version, McpError.MethodNotFound)
      assert.strictEqual(yield* code(ClientExtension.layer(Notes)), unknown)
      for (const name of ["com.example/notes/other", "__proto__", "constructor", "toString"]) {
        assert.strictEqual(yield* code(picking, name), unknown)
      }
      if (version === Modern.version) return
      assert.strictEqual(yield* code(Layer.empty), unknown)
      assert.strictEqual(yield* code(picking, method, {}), unknown)
    })
  )

  it.effect("Cancelling an extension question interrupts its handler", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const hanging = ClientExtension.layer(Notes, {
        questions: {
          pick: () =>
            Effect.andThen(Deferred.succeed(reached, undefined), Effect.never).pipe(
              Effect.onExit((exit) => Deferred.succeed(ended, exit))
            )
        }
      })
      const { ask, server } = yield* Effect.provide(asker(version), hanging)
      const asked = yield* fork(ask(method, { ids: [1] }))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(asked)
      assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
      yield* quiesce
      assert.strictEqual(server.peer.outstanding(), 0)
    })
  )
})

it.effect("Questions of an extension and of the revision in one result are answered together", () =>
  Effect.gen(function* () {
    const { version } = Modern
    const { client, server } = yield* noted({
      version,
      answers: {
        "tools/call": ({ inputResponses }) =>
          inputResponses === undefined
            ? asks({ a: { method, params: { ids: [1] } }, b: form("Name?") }, "state")
            : result({ content: [] })
      }
    })
    yield* client.callToolByName("t")
    const { inputResponses, requestState } = server.requests("tools/call")[1]?.params ?? {}
    assert.strictEqual(requestState, "state")
    assert.deepStrictEqual(inputResponses, {
      a: { id: 101 },
      b: { action: "accept", content: { name: "Ada, asked: Name?" } }
    })
  }).pipe(Effect.provide(Layer.merge(picking, user)))
)

it.effect("Merging another layer of an extension replaces earlier ones", () =>
  Effect.gen(function* () {
    const double = ClientExtension.layer(Notes, { questions: { pick: () => Effect.succeed({ id: -1 }) } })
    const { ask } = yield* Effect.provide(asker("2025-11-25"), Layer.merge(picking, double))
    assert.deepStrictEqual(yield* ask(method, { ids: [7] }), { id: -1 })
  })
)
