/** Sessions over HTTP: how they open, which callers may use them, and how they end. */
import { Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { type Client, echo, isNodes, open, sent } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, initialize, openSession, request, revisions } from "../support/session.ts"

const sessionsOf = ({ server }: Client) => Effect.map(server.sessions, (sessions) => sessions.length)
const refusal = (reply: Effect.Success<ReturnType<Client["fetch"]>>) =>
  Effect.map(reply.json, ({ error, id }) => [reply.status, error.code, id])

describe.each(revisions)("Sessions in %s", (version) => {
  it.live(
    "initialize opens a session with the requested version and an unguessable, printable ASCII id",
    () =>
      Effect.gen(function* () {
        const client = yield* open(echo)
        const ids = new Set<string>()
        for (let round = 0; round < 20; round++) {
          const { id, initialized } = yield* openSession(client, version)
          assert.strictEqual(initialized.result.protocolVersion, version)
          assert.match(id, /^[\x21-\x7e]{32,}$/)
          ids.add(id)
        }
        assert.strictEqual(ids.size, 20)
        assert.strictEqual(yield* sessionsOf(client), 20)
      }),
    verifies("http.session.id-secure", "http.session.id-ascii", "http.endpoint.single")
  )

  it.live(
    "Requests get JSON answers; notifications and responses get 202 without a body",
    () =>
      Effect.gen(function* () {
        const session = yield* openSession(yield* open(echo), version)
        const reply = yield* session.call("echo", { text: "hei" }, "a")
        assert.deepStrictEqual([reply.status, reply.headers["content-type"]], [200, "application/json"])
        const { id, result } = yield* reply.json
        assert.deepStrictEqual([id, result.content[0].text], ["a", "hei"])
        for (const taken of [yield* session.notify("notifications/other"), yield* session.respond(99, {})]) {
          assert.strictEqual(taken.status, 202)
          assert.strictEqual(yield* taken.text, "")
        }
      }),
    verifies("http.post.json-or-sse", "http.post.accepted")
  )

  it.live(
    "A request without a session id gets 400, and one with an unknown or ended id gets 404",
    () =>
      Effect.gen(function* () {
        const client = yield* open(echo)
        const session = yield* openSession(client, version)
        const without = { headers: { "mcp-protocol-version": version }, body: JSON.stringify(request("ping")) }
        assert.deepStrictEqual(yield* refusal(yield* client.fetch(without)), [400, McpError.InvalidRequest, 1])
        const stranger = { headers: { "mcp-session-id": "nobody's" } }
        assert.deepStrictEqual(yield* refusal(yield* client.fetch({ ...without, ...stranger })), [404, -32600, 1])
        assert.strictEqual((yield* client.fetch({ ...stranger, method: "GET" })).status, 404)
        assert.strictEqual((yield* client.fetch({ ...stranger, method: "DELETE" })).status, 404)
        for (const method of ["GET", "DELETE"]) assert.strictEqual((yield* client.fetch({ method })).status, 400)
        const notification = { body: `{"jsonrpc":"2.0","method":"notifications/initialized"}` }
        assert.strictEqual((yield* client.fetch(notification)).status, 400)

        const ended = yield* session.delete
        assert.strictEqual(ended.status, 204)
        assert.deepStrictEqual(yield* refusal(yield* session.request("ping")), [404, -32600, 1])
        assert.strictEqual((yield* session.notify("notifications/other")).status, 404)
        assert.strictEqual((yield* session.get()).status, 404)
        assert.strictEqual((yield* session.delete).status, 404)
        assert.strictEqual(yield* sessionsOf(client), 0)
      }),
    verifies("http.session.id-required", "http.session.terminated-404", "http.post.not-accepted")
  )

  it.live(
    "A session accepts any supported version header, or none",
    () =>
      Effect.gen(function* () {
        const session = yield* openSession(yield* open(echo), version)
        const status = (header: string | undefined) =>
          Effect.map(session.post(request("ping"), { "mcp-protocol-version": header }), (reply) => reply.status)
        for (const served of [undefined, ...revisions, "2024-11-05"]) assert.strictEqual(yield* status(served), 200)
        for (const other of ["", "1999-01-01", "2026-07-28", "latest"]) assert.strictEqual(yield* status(other), 400)
      }),
    verifies("http.version.header-invalid", "http.version.header-absent")
  )

  it.live(
    "A session answers in its negotiated version, regardless of the header",
    () =>
      Effect.gen(function* () {
        const session = yield* openSession(yield* open(echo), version)
        const answers = []
        for (const header of [undefined, version, "2025-03-26"]) {
          const body = callOf("echo", { text: 1 })
          const { error, result } = yield* (yield* session.post(body, { "mcp-protocol-version": header })).json
          answers.push(error === undefined ? result.isError : error.code)
        }
        // Invalid arguments produce a result from 2025-11-25 on.
        assert.deepStrictEqual(answers, Array(3).fill(version === "2025-11-25" ? true : -32602))
      }),
    verifies("http.version.header-absent")
  )
})

/** Provides the principal named in headers. */
const named = HttpRouter.middleware<{ provides: Principal }>()((handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Effect.provideService(handler, Principal, {
      subject: headers["x-user"],
      scopes: [],
      claims: { iss: headers["x-issuer"] }
    })
  )
).layer

describe("Foreign origins", () => {
  it.live(
    "A foreign origin can neither use nor open a session",
    () =>
      Effect.gen(function* () {
        const client = yield* open(echo)
        const session = yield* openSession(client)
        const headers = { origin: "http://evil.example.com" }
        const handshake = JSON.stringify(initialize("2025-11-25"))
        assert.strictEqual((yield* client.fetch({ headers, body: handshake })).status, 403)
        assert.strictEqual((yield* session.post(request("ping"), headers)).status, 403)
        for (const method of ["GET", "DELETE"]) {
          assert.strictEqual((yield* session.send({ method, headers })).status, 403)
        }
        assert.strictEqual((yield* session.request("ping")).status, 200)
        assert.strictEqual(yield* sessionsOf(client), 1)
      }),
    verifies("http.origin.validated", "http.origin.forbidden")
  )
})

describe("Opening a session", () => {
  it.live("A failed initialize gets 400 and leaves no session behind", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const bad = request("initialize", { protocolVersion: "2025-11-25" })
      const reply = yield* client.fetch({ body: JSON.stringify(bad) })
      assert.deepStrictEqual(yield* refusal(reply), [400, McpError.InvalidParams, 1])
      assert.isUndefined(reply.headers["mcp-session-id"])
      assert.strictEqual(yield* sessionsOf(client), 0)
    })
  )

  it.live("A second initialize is rejected without changing the session", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const session = yield* openSession(client, "2025-03-26")
      const again = yield* (yield* session.post(initialize("2025-11-25"))).json
      assert.strictEqual(again.error.code, McpError.InvalidRequest)
      assert.strictEqual((yield* session.call("echo", { text: "" })).status, 200)
      assert.strictEqual(yield* sessionsOf(client), 1)
    })
  )

  it.live("initialize in a batch is rejected", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const reply = yield* client.fetch({ body: JSON.stringify([initialize("2025-03-26")]) })
      assert.strictEqual(reply.status, 400)
      assert.strictEqual(yield* sessionsOf(client), 0)
    })
  )

  it.live(
    "A session over capacity gets 503 with Retry-After until another ends",
    () =>
      Effect.gen(function* () {
        const client = yield* open(echo, { sessions: { capacity: 2 } })
        const { delete: end } = yield* openSession(client)
        yield* openSession(client)
        const reply = yield* client.fetch({ body: JSON.stringify(initialize("2025-11-25")) })
        assert.deepStrictEqual(yield* refusal(reply), [503, McpError.LimitExceeded, 0])
        assert.strictEqual(reply.headers["retry-after"], "1")
        yield* end
        yield* openSession(client)
        assert.strictEqual(yield* sessionsOf(client), 2)
      }),
    needs(!isNodes, "each node counts its own")
  )

  it.live("A principal with too many sessions gets 429, while another can open one", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { around: Layer.provide(named), sessions: { perCaller: 2 } })
      const initializing = (user: string) =>
        Effect.map(
          client.fetch({ headers: { "x-user": user }, body: JSON.stringify(initialize("2025-11-25")) }),
          ({ headers, status }) => [status, headers["retry-after"]]
        )
      const { delete: end } = yield* openSession(client, "2025-11-25", { headers: { "x-user": "eve" } })
      yield* openSession(client, "2025-11-25", { headers: { "x-user": "eve" } })
      assert.deepStrictEqual(yield* initializing("eve"), [429, "1"])
      assert.deepStrictEqual(yield* initializing("ada"), [200, undefined])
      yield* end
      assert.deepStrictEqual(yield* initializing("eve"), [200, undefined])
    })
  )

  it.live("A 2024-11-05 client can open a session over Streamable HTTP", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* open(echo), "2024-11-05")
      assert.strictEqual(session.initialized.result.protocolVersion, "2024-11-05")
      assert.strictEqual((yield* (yield* session.call("echo", { text: "old" })).json).result.content[0].text, "old")
      assert.strictEqual((yield* session.get()).status, 200)
    })
  )

  it.live("Sessions open only in supported versions, alongside the stateless era", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      assert.strictEqual((yield* client.post("server/discover")).status, 200)
      // Only the version header decides here: this is not the handshake of an older client.
      const modern = yield* client.post("initialize")
      assert.strictEqual(modern.status, 404)
      for (const method of ["GET", "DELETE"]) {
        const headers = { "mcp-protocol-version": "2026-07-28" }
        assert.strictEqual((yield* client.fetch({ method, headers })).status, 405)
      }
      const old = yield* open(echo, {}, { revisions: ["2025-06-18"] })
      const answer = yield* old.fetch(sent("server/discover"))
      assert.strictEqual(answer.status, 400)
      const { error } = yield* answer.json
      assert.deepInclude(error, { code: -32022, data: { supported: ["2025-06-18"], requested: "2026-07-28" } })
      const { initialized } = yield* openSession(old, "2025-11-25")
      assert.strictEqual(initialized.result.protocolVersion, "2025-06-18")
    })
  )
})

describe("Session lifetime", () => {
  it.live("A session belongs to the principal that opened it", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { around: Layer.provide(named) })
      const ada = { "x-user": "ada", "x-issuer": "one" }
      const session = yield* openSession(client, "2025-11-25", { headers: ada })
      assert.strictEqual((yield* session.request("ping")).status, 200)
      for (const other of [
        { "x-user": "eve", "x-issuer": "one" },
        { "x-user": "ada", "x-issuer": "two" },
        { "x-user": undefined, "x-issuer": "one" }
      ]) {
        assert.strictEqual((yield* session.post(request("ping"), other)).status, 404)
        assert.strictEqual((yield* session.send({ method: "GET", headers: other })).status, 404)
        assert.strictEqual((yield* session.send({ method: "DELETE", headers: other })).status, 404)
      }
      assert.strictEqual((yield* session.request("ping")).status, 200)
    })
  )

  it.effect("An idle session expires, and each use restarts the timer", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { sessions: { idle: "3 minutes" } })
      const session = yield* openSession(client)
      for (let round = 0; round < 3; round++) {
        yield* TestClock.adjust("174 seconds")
        assert.strictEqual((yield* session.request("ping")).status, 200)
      }
      yield* TestClock.adjust("204 seconds")
      assert.strictEqual((yield* session.request("ping")).status, 404)
      assert.strictEqual(yield* sessionsOf(client), 0)
    })
  )

  it.effect("A session does not expire during a request or an open stream", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { sessions: { idle: "3 minutes" }, resume: false })
      const session = yield* openSession(client)
      const call = yield* Effect.forkChild(session.call("puppet", { name: "long" }), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      yield* TestClock.adjust("18 minutes")
      yield* puppet.tell("long", Puppet.answer("done"))
      assert.strictEqual((yield* Fiber.join(call)).status, 200)
      const stream = yield* session.get()
      yield* TestClock.adjust("18 minutes")
      assert.strictEqual((yield* session.request("ping")).status, 200)
      yield* stream.disconnect
      // The server notices the end of the stream a few turns later; the idle time starts then.
      const expired = Effect.andThen(TestClock.adjust("204 seconds"), sessionsOf(client))
      yield* Effect.repeat(expired, { until: (count) => count === 0, times: 20 })
      assert.strictEqual((yield* session.request("ping")).status, 404)
    })
  )

  it.live("DELETE ends the session's requests and answers each with an error that explains why", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer))
      const streaming = yield* session.follow("puppet", { name: "a" }, 1)
      const stream = yield* session.get()
      assert.strictEqual((yield* session.delete).status, 204)
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
      const answer = (yield* streaming.text).trim().split("\n").at(-1) ?? ""
      const { error, id } = JSON.parse(answer.replace("data: ", ""))
      assert.deepStrictEqual([id, error], [1, { code: McpError.Interrupted, message: "The client closed the session" }])
      assert.strictEqual((yield* stream.text).includes("jsonrpc"), false)
    })
  )
})
