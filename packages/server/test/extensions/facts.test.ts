/** Handlers of extensions that need the facts of their request alone: where a request starts at once, no service is made for them. */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import { handlerOfFacts } from "@effect-mcp/core/internal/HandlerContext"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import type { RequestFacts } from "@effect-mcp/core/RequestContext"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { declaring, id, Notes } from "../support/notes.ts"
import { everyVersion, session } from "../support/raw.ts"

const { method } = Notes.requests.find
const Find = Extension.make(id, { clientSettings: { colours: Schema.Boolean }, requests: Notes.requests })
const ada = { ...anonymous, subject: "ada" }
const eve = { ...anonymous, subject: "eve" }
const none = Layer.empty
const around = Middleware.layer((_request, next) => next)
const asEve = Middleware.layer((_request, next) => Effect.provideService(next, Principal, eve))

const snapshot = (facts: RequestFacts) => {
  const { clientCapabilities, clientInfo, connection, id, isHttp, meta, method, principal, revision, sessionId } = facts
  const hasConnection = connection !== undefined
  return { clientCapabilities, clientInfo, hasConnection, id, isHttp, meta, method, principal, revision, sessionId }
}

describe("A handler of facts", () => {
  for (const version of everyVersion()) {
    it.effect(`A handler of facts has those of its request, with and without middleware (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<{ readonly facts: ReturnType<typeof snapshot>; readonly isRequest: boolean }> = []
        const handler = handlerOfFacts((_params: { readonly text: string }, facts) => {
          seen.push({ facts: snapshot(facts), isRequest: Object.getPrototypeOf(facts) !== Object.prototype })
          return Effect.succeed({ ids: [] })
        })
        for (const layer of [none, around, asEve]) {
          const features = Layer.merge(Extensions.layer(Find, { requests: { find: handler } }), layer)
          const client = yield* session(features, { version, capabilities: declaring(version), principal: ada })
          yield* client.request(method, { text: "abc", _meta: { "com.example/more": 1 } })
        }
        const [alone, within, replaced] = seen
        assert.deepStrictEqual(
          seen.map(({ isRequest }) => isRequest),
          [true, false, false]
        )
        assert.isDefined(alone)
        assert.strictEqual(alone.facts.meta["com.example/more"], 1)
        assert.strictEqual(alone.facts.principal.subject, "ada")
        assert.deepStrictEqual(within?.facts, alone.facts)
        assert.deepStrictEqual(replaced?.facts, { ...alone.facts, principal: eve })
      })
    )

    it.effect(`What a handler of facts throws, fails with or waits for is that of any handler (${version})`, () =>
      Effect.gen(function* () {
        const ends: ReadonlyArray<() => Effect.Effect<{ readonly ids: ReadonlyArray<number> }, any>> = [
          () => Effect.fail({ tooShort: 1 }),
          () => Effect.die(new Error("A defect")),
          () => Effect.as(Effect.yieldNow, { ids: [1] }),
          () => {
            throw new Error("A defect")
          }
        ]
        const answers: Array<unknown> = []
        for (const layer of [none, around]) {
          let end = ends[0] ?? (() => Effect.never)
          const handler = handlerOfFacts((_params: { readonly text: string }) => end())
          const features = Layer.merge(Extensions.layer(Find, { requests: { find: handler } }), layer)
          const client = yield* session(features, { version, capabilities: declaring(version) })
          const seen: Array<unknown> = []
          for (end of ends) seen.push(yield* Effect.result(client.request(method, { text: "abc" })))
          answers.push(JSON.parse(JSON.stringify(seen)))
        }
        assert.deepStrictEqual(answers[1], answers[0])
      })
    )
  }
})
