/** Hooks around every inbound message over HTTP: in sessions, without sessions, and in the stateless revision. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Latch, Layer } from "effect"
import { open, sent } from "../support/http.ts"
import { initialize, openSession, request, revisions } from "../support/session.ts"

const tool = Tools.layer(Tool.make("t", { description: "" }), () => Effect.succeed("called"))
const answering = (seen: Array<string>) =>
  Middleware.inbound(({ envelope, message, session }, next) => {
    seen.push(`${message.method} ${session === undefined ? "alone" : "in a session"} ${envelope.method}`)
    if (message.method === "acme/sum") return Effect.succeed({ resultType: "complete", sum: 3 })
    return message.method === "acme/refused"
      ? Effect.fail(McpError.unauthorized("Log in", { challenge: "Basic" }))
      : next
  })

describe("Inbound message hooks over HTTP", () => {
  for (const version of revisions) {
    it.live(
      `An inbound hook sees session messages, answers unknown methods and rejects with a status (${version})`,
      () =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          const client = yield* open(Layer.merge(tool, answering(seen)))
          const { call, request } = yield* openSession(client, version)
          assert.strictEqual((yield* (yield* call("t")).json).result.content[0].text, "called")
          assert.strictEqual((yield* (yield* request("acme/sum")).json).result.sum, 3)
          const refused = yield* request("acme/refused")
          assert.strictEqual(refused.status, 401)
          assert.strictEqual(refused.headers["www-authenticate"], "Basic")
          assert.strictEqual((yield* (yield* request("acme/other")).json).error.code, McpError.MethodNotFound)
          assert.deepStrictEqual(
            seen,
            ["initialize", "notifications/initialized", "tools/call", "acme/sum", "acme/refused", "acme/other"].map(
              (method) => `${method} in a session POST`
            )
          )
        })
    )

    it.live(`An inbound hook sees requests to a sessionless endpoint (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const { fetch } = yield* open(Layer.merge(tool, answering(seen)), { sessions: false })
        const reply = yield* fetch({
          headers: { "mcp-protocol-version": version },
          body: JSON.stringify(request("acme/sum"))
        })
        assert.strictEqual((yield* reply.json).result.sum, 3)
        assert.deepStrictEqual(seen, ["acme/sum in a session POST"])
      })
    )

    it.live(`A hook that rejects initialize sets the status, and no session opens (${version})`, () =>
      Effect.gen(function* () {
        const closed = Middleware.inbound(({ message }, next) =>
          message.method === "initialize" ? Effect.fail(McpError.forbidden("Closed")) : next
        )
        const { fetch, server } = yield* open(Layer.merge(tool, closed))
        const reply = yield* fetch({ body: JSON.stringify(initialize(version)) })
        assert.strictEqual(reply.status, 403)
        assert.isUndefined(reply.headers["mcp-session-id"])
        yield* reply.text
        assert.deepStrictEqual(yield* server.sessions, [])
      })
    )
  }

  it.live("An inbound hook can answer an unknown 2026-07-28 method instead of 404", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { fetch } = yield* open(Layer.merge(tool, answering(seen)))
      const reply = yield* fetch(sent("acme/sum"))
      assert.strictEqual(reply.status, 200)
      assert.strictEqual((yield* reply.json).result.sum, 3)
      assert.strictEqual((yield* fetch(sent("acme/refused"))).status, 401)
      assert.strictEqual((yield* fetch(sent("acme/other"))).status, 404)
      assert.deepStrictEqual(seen, ["acme/sum alone POST", "acme/refused alone POST", "acme/other alone POST"])
    })
  )

  it.live("A waiting hook is interrupted when the 2026-07-28 client disconnects", () =>
    Effect.gen(function* () {
      const started = yield* Latch.make()
      const ended = yield* Deferred.make<void>()
      const stuck = Middleware.inbound(() =>
        Effect.onInterrupt(Effect.andThen(started.open, Effect.never), () => Deferred.succeed(ended, undefined))
      )
      const { abandon } = yield* open(Layer.merge(tool, stuck))
      yield* Effect.scoped(Effect.andThen(abandon(sent("acme/sum")), started.await))
      yield* Deferred.await(ended)
    })
  )

  it.live("A waiting hook does not delay shutdown", () =>
    Effect.gen(function* () {
      const started = yield* Latch.make()
      const stuck = Middleware.inbound(({ message }, next) =>
        message.method === "acme/sum" ? Effect.andThen(started.open, Effect.never) : next
      )
      const client = yield* open(Layer.merge(tool, stuck), { drain: "1 millis" })
      const { abandon } = yield* openSession(client)
      yield* abandon({ body: JSON.stringify(request("acme/sum")) })
      yield* started.await
      yield* started.close
      yield* client.abandon(sent("acme/sum"))
      yield* started.await
      yield* client.shutdown
    })
  )
})
