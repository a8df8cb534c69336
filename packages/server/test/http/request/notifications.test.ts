/** Notifications posted without a session: the same hooks and handlers, ordered per caller and bounded. */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Queue, Schema, Scope } from "effect"
import { metaOf } from "../../support/modern.ts"
import { make as endpoint, type Sent, until } from "../support/endpoint.ts"
import { open } from "../support/http.ts"
import { revisions } from "../support/session.ts"

const make = (undeclared: "refused" | "served") =>
  Extension.make("com.example/notes", {
    notifications: {
      seen: Extension.notification("notifications/com.example/notes/seen", {
        from: "client",
        params: { id: Schema.Int, text: Schema.optionalKey(Schema.String) }
      })
    },
    undeclared
  })
const Notes = make("served")
const { seen } = Notes.notifications

type Notes = typeof Notes
const handling = <R>(
  handler: (params: { readonly id: number }) => Effect.Effect<void, never, R>,
  notes: Notes = Notes
) => Extensions.layer(notes, { notifications: { seen: handler } })

/** A notification as a client of a revision posts it. */
const posted = (
  version: string,
  params: object,
  capabilities: object = {}
): Required<Pick<Sent, "body" | "headers">> => ({
  headers: { "mcp-protocol-version": version },
  body: {
    jsonrpc: "2.0",
    method: seen.method,
    params: { ...params, ...(version === "2026-07-28" ? { _meta: metaOf(capabilities) } : undefined) }
  }
})
const optionsOf = (version: string) => (version === "2026-07-28" ? {} : ({ sessions: false } as const))
const ada: Principal["Service"] = { subject: "ada", scopes: [], claims: {} }

describe.each([...revisions, "2026-07-28"])("Sessionless notifications (%s)", (version) => {
  it.live("A sessionless notification gets 202 and reaches hooks and its handler", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const hook = Middleware.inbound(({ envelope, message, session }, next) => {
        log.push(`${message.method} ${session === undefined ? "alone" : "in a session"} ${envelope.method}`)
        return next
      })
      const heard = yield* Queue.unbounded<unknown>()
      const handler = handling(({ id }) =>
        Effect.gen(function* () {
          const { http, revision, sessionId } = yield* RequestContext
          const { subject } = yield* Principal
          yield* Queue.offer(heard, [id, subject, http?.method, http?.headers["x-of"], revision.version, sessionId])
        })
      )
      const { fetch } = yield* open(Layer.merge(hook, handler), optionsOf(version))
      const { body, headers } = posted(version, { id: 1 })
      const reply = yield* fetch({ headers: { ...headers, "x-of": "me" }, body: JSON.stringify(body) })
      assert.strictEqual(reply.status, 202)
      assert.strictEqual(yield* reply.text, "")
      assert.deepStrictEqual(yield* Queue.take(heard), [1, undefined, "POST", "me", version, undefined])
      assert.deepStrictEqual(log, [`${seen.method} alone POST`])
    })
  )

  it.effect("A sessionless notification waits only for the same caller's earlier ones", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const release = yield* Deferred.make<void>()
      const handler = handling(({ id }) =>
        Effect.gen(function* () {
          const { subject } = yield* Principal
          if (subject === "ada" && id === 1) yield* Deferred.await(release)
          heard.push(`${subject} ${id}`)
        })
      )
      const { send } = yield* endpoint(handler, optionsOf(version))
      const bob = { ...ada, subject: "bob" }
      for (const [principal, id] of [
        [ada, 1],
        [ada, 2],
        [bob, 3]
      ] as const) {
        assert.strictEqual((yield* send({ principal, ...posted(version, { id }) })).status, 202)
      }
      yield* until(() => heard.length === 1, "bob's is handled")
      assert.deepStrictEqual(heard, ["bob 3"])
      yield* Deferred.succeed(release, undefined)
      yield* until(() => heard.length === 3, "ada's are handled")
      assert.deepStrictEqual(heard, ["bob 3", "ada 1", "ada 2"])
    })
  )

  it.effect("A sessionless notification is dropped if its caller's queue is too long or too large", () =>
    Effect.gen(function* () {
      for (const text of ["", "x".repeat(1024 * 1024)]) {
        let handled = 0
        const release = yield* Deferred.make<void>()
        const handler = handling(() =>
          Effect.andThen(
            Deferred.await(release),
            Effect.sync(() => handled++)
          )
        )
        const { send } = yield* endpoint(handler, optionsOf(version))
        const count = text === "" ? 1100 : 6
        for (let id = 0; id < count; id++) yield* send({ principal: ada, ...posted(version, { id, text }) })
        yield* send({ principal: { ...ada, subject: "bob" }, ...posted(version, { id: 0 }) })
        yield* Deferred.succeed(release, undefined)
        const expected = text === "" ? 1026 : 5
        yield* until(() => handled === expected, `${handled} of ${expected}`)
        yield* until(() => true, "nothing else runs")
        assert.strictEqual(handled, expected)
      }
    })
  )

  it.effect("A sessionless notification is dropped if its extension was not declared", () =>
    Effect.gen(function* () {
      const heard: Array<number> = []
      const handler = handling(({ id }) => Effect.sync(() => heard.push(id)), make("refused"))
      const { send } = yield* endpoint(handler, optionsOf(version))
      assert.strictEqual((yield* send(posted(version, { id: 1 }))).status, 202)
      const declared = { extensions: { "com.example/notes": {} } }
      assert.strictEqual((yield* send(posted(version, { id: 2 }, declared))).status, 202)
      // Without a session, a client of an older revision declares nothing.
      const expected = version === "2026-07-28" ? [2] : []
      yield* until(() => heard.length === expected.length, "it is handled")
      assert.deepStrictEqual(heard, expected)
    })
  )

  it.effect("A waiting handler of a sessionless notification ends with its server", () =>
    Effect.gen(function* () {
      const ended: Array<boolean> = []
      const handler = handling(() =>
        Effect.onExit(Effect.never, (exit) => Effect.sync(() => ended.push(Exit.hasInterrupts(exit))))
      )
      const scope = yield* Scope.make()
      const { send } = yield* Scope.provide(endpoint(handler, optionsOf(version)), scope)
      for (const id of [1, 2]) yield* send(posted(version, { id }))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(ended, [true])
    })
  )
})

it.effect("A notification handler can outlast its sessionless batch", () =>
  Effect.gen(function* () {
    const heard: Array<number> = []
    const release = yield* Deferred.make<void>()
    const handler = handling(({ id }) =>
      Effect.andThen(
        Deferred.await(release),
        Effect.sync(() => heard.push(id))
      )
    )
    const { send } = yield* endpoint(handler, { sessions: false })
    const { body, headers } = posted("2025-03-26", { id: 1 })
    const reply = yield* send({ headers, body: [body, { jsonrpc: "2.0", id: 1, method: "ping" }] })
    assert.lengthOf(reply.json, 1)
    yield* Deferred.succeed(release, undefined)
    yield* until(() => heard.length === 1, "it is handled")
  })
)
