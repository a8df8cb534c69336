/** HTTP with SSE: the lifecycle of a session, statuses, and admission. */
import { Principal } from "@effect-mcp/core/Principal"
import * as RequestContext from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { drip } from "../support/drip.ts"
import { callOf, open, request, type Sent } from "./support/sse.ts"

const hello = Tools.layer(Tool.make("hello", { description: "Greets." }), () => Effect.succeed("hello"))
const whoami = Tools.layer(
  Tool.make("whoami", { description: "Says who asks." }),
  Effect.fnUntraced(function* () {
    const { envelope } = yield* RequestContext.RequestContext
    const { scopes, subject } = yield* Principal
    return `${subject} ${scopes.join()} ${envelope.headers?.["x-extra"]}`
  })
)

describe("HTTP with SSE sessions", () => {
  it.live(
    "The first event of a stream is the POST endpoint, followed by one event per server message",
    () =>
      Effect.gen(function* () {
        const { connect, fetch } = yield* open(hello)
        const reply = yield* fetch({})
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.headers["content-type"], "text/event-stream")
        assert.strictEqual(reply.headers["x-accel-buffering"], "no")
        assert.match(reply.headers["cache-control"] ?? "", /no-cache/)
        assert.match(yield* reply.next, /^event: endpoint\ndata: \/messages\?sessionId=[0-9a-f-]{36}$/)

        const client = yield* connect()
        const posted = yield* client.post(
          request("initialize", {
            protocolVersion: "2024-11-05",
            capabilities: {},
            clientInfo: { name: "", version: "" }
          })
        )
        assert.strictEqual(posted.status, 202)
        const event = yield* client.next
        const data = event.replace("event: message\ndata: ", "")
        assert.notInclude(data, "\n")
        assert.deepInclude(JSON.parse(data), { jsonrpc: "2.0", id: 1 })
        assert.strictEqual(JSON.parse(data).result.protocolVersion, "2024-11-05")
        assert.strictEqual((yield* client.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 202)
        assert.strictEqual((yield* client.ask("tools/call", { name: "hello" })).result.content[0].text, "hello")
      }),
    verifies("sse.endpoints.two", "sse.endpoint-event.sent", "sse.message-event")
  )

  it.live("An HTTP with SSE session supports exactly the handshake revisions", () =>
    Effect.gen(function* () {
      const { connect } = yield* open(hello)
      for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
        const client = yield* connect()
        assert.strictEqual((yield* client.initialize(version)).result.protocolVersion, version)
      }
      const client = yield* connect()
      const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }
      const { error, id } = yield* client.ask("server/discover", { _meta }, "d")
      assert.strictEqual(id, "d")
      assert.deepStrictEqual([error.code, error.data.requested], [-32022, "2026-07-28"])
      assert.deepStrictEqual(error.data.supported, ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
      assert.strictEqual((yield* client.initialize()).result.protocolVersion, "2025-11-25")
    })
  )

  it.live("Each session has an unguessable id and receives only its own messages", () =>
    Effect.gen(function* () {
      const { connect, server } = yield* open(hello)
      const clients = yield* Effect.all(Array.from({ length: 20 }, () => connect()))
      assert.strictEqual(new Set(clients.map(({ endpoint }) => endpoint)).size, 20)
      assert.strictEqual((yield* server.sessions).length, 20)
      const answers = yield* Effect.forEach(
        clients,
        ({ ask, initialize }, index) => Effect.andThen(initialize(), ask("ping", {}, index)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ id }) => id),
        clients.map((_, index) => index)
      )
    })
  )

  it.live("A batch is answered in one event if the revision has batches", () =>
    Effect.gen(function* () {
      const { connect } = yield* open(hello)
      const client = yield* connect()
      yield* client.initialize("2025-03-26")
      assert.strictEqual((yield* client.post([request("ping", {}, "a"), callOf("hello", {}, "b")])).status, 202)
      const answers = yield* client.message
      assert.deepStrictEqual(
        answers.map(({ id }: any) => id),
        ["a", "b"]
      )
    })
  )

  it.live("The endpoint event includes the app's mount prefix", () =>
    Effect.gen(function* () {
      const around = (endpoint: Parameters<NonNullable<Parameters<typeof open>[1]>["around"] & object>[0]) =>
        Layer.provide(
          endpoint,
          Layer.effect(
            HttpRouter.HttpRouter,
            Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed("/v1"))
          )
        )
      const { connect } = yield* open(hello, { around, messages: "/say" })
      const client = yield* connect({ path: "/v1/sse" })
      assert.match(client.endpoint, /^\/v1\/say\?sessionId=/)
      yield* client.initialize()
    })
  )
})

describe("HTTP with SSE POSTs", () => {
  it.live("A POST to an unknown, missing or ended session gets 404", () =>
    Effect.gen(function* () {
      const { connect, fetch, server } = yield* open(hello)
      const client = yield* connect()
      const post = (path: string) =>
        fetch({
          method: "POST",
          path,
          headers: { "content-type": "application/json" },
          body: JSON.stringify(request("ping"))
        })
      assert.strictEqual((yield* post("/messages")).status, 404)
      assert.strictEqual((yield* post("/messages?sessionId=")).status, 404)
      assert.strictEqual((yield* post(client.endpoint.replace(/.$/, "x"))).status, 404)
      assert.strictEqual((yield* post(client.endpoint)).status, 202)
      yield* client.disconnect
      yield* Effect.repeat(server.sessions, { until: (sessions) => sessions.length === 0 })
      assert.strictEqual((yield* post(client.endpoint)).status, 404)
    })
  )

  it.live("Slow bodies are cut off to make room for complete ones, across sessions", () =>
    Effect.gen(function* () {
      const { connect, port } = yield* open(hello, { inFlight: 2 })
      const client = yield* connect()
      const other = yield* connect()
      const closed = yield* Queue.unbounded<void>()
      for (let round = 0; round < 5; round++) {
        yield* drip(port, closed, { path: client.endpoint })
        assert.strictEqual((yield* other.post(request("ping"))).status, 202)
      }
      yield* Queue.takeN(closed, 3)
      assert.strictEqual((yield* client.post(request("ping"))).status, 202)
    })
  )

  it.live("A body that arrives after its session ended gets 404", () =>
    Effect.gen(function* () {
      const { connect, fetch, server } = yield* open(hello)
      const client = yield* connect()
      let go = () => {}
      const slow = fetch({
        method: "POST",
        path: client.endpoint,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request("ping")),
        pause: new Promise((resolve) => (go = resolve))
      })
      const posted = yield* Effect.forkChild(slow, { startImmediately: true })
      yield* client.post(request("ping"))
      yield* client.disconnect
      yield* Effect.repeat(server.sessions, { until: (sessions) => sessions.length === 0 })
      go()
      assert.strictEqual((yield* Fiber.join(posted)).status, 404)
    })
  )

  it.effect("An unfinished body is cut off after its time limit", () =>
    Effect.gen(function* () {
      const { connect, port } = yield* open(hello, { inFlight: 4 })
      const client = yield* connect()
      const closed = yield* Queue.unbounded<void>()
      yield* drip(port, closed, { path: client.endpoint })
      assert.strictEqual((yield* client.post(request("ping"))).status, 202)
      yield* Effect.repeat(TestClock.adjust("31 seconds"), { until: () => Queue.sizeUnsafe(closed) > 0, times: 50 })
      yield* Queue.take(closed)
      assert.strictEqual((yield* client.post(request("ping"))).status, 202)
    })
  )

  it.live("An unreadable message gets 400 and an error on the stream", () =>
    Effect.gen(function* () {
      const { connect } = yield* open(hello)
      const client = yield* connect()
      yield* client.initialize("2024-11-05")
      const refused: ReadonlyArray<readonly [body: string, code: number, id: unknown]> = [
        ["", -32700, null],
        ["{", -32700, null],
        [`{"jsonrpc":"2.0","id":5,"method":1}`, -32600, 5]
      ]
      for (const [body, code, id] of refused) {
        const reply = yield* client.post(body)
        assert.strictEqual(reply.status, 400, body)
        assert.strictEqual(JSON.parse(yield* reply.text).error.code, code)
        const { error, ...message } = yield* client.message
        assert.deepStrictEqual([error.code, message.id], [code, id], body)
      }
      assert.strictEqual((yield* client.post(Uint8Array.of(0x22, 0xff, 0x22))).status, 400)
      // A response never gets an answer.
      assert.strictEqual((yield* client.post(`{"jsonrpc":"2.0","id":5,"result":{},"error":{}}`)).status, 400)
      assert.strictEqual((yield* client.ask("ping")).id, 1)
    })
  )

  it.live("A POST with another media type or an oversized body is rejected", () =>
    Effect.gen(function* () {
      const { connect } = yield* open(hello, { maxMessageBytes: 1000 })
      const client = yield* connect()
      yield* client.initialize()
      for (const type of ["text/plain", undefined, "application/jsonx"]) {
        assert.strictEqual((yield* client.post(request("ping"), { "content-type": type })).status, 415, type)
      }
      const large = { ...request("ping"), params: { text: "x".repeat(1000) } }
      assert.strictEqual((yield* client.post(large)).status, 413)
      assert.strictEqual((yield* client.post(large, { "transfer-encoding": "chunked" })).status, 413)
      const typed = yield* client.post(request("ping"), { "content-type": "application/json; charset=utf-8" })
      assert.strictEqual(typed.status, 202)
    })
  )
})

describe("HTTP with SSE admission", () => {
  it.live("Other methods get 405 with the allowed method", () =>
    Effect.gen(function* () {
      const { connect, fetch } = yield* open(hello)
      const { endpoint } = yield* connect()
      const answer = (sent: Sent) => Effect.map(fetch(sent), ({ headers, status }) => [status, headers.allow])
      for (const method of ["POST", "PUT", "DELETE"]) assert.deepStrictEqual(yield* answer({ method }), [405, "GET"])
      for (const method of ["GET", "PUT", "DELETE"]) {
        assert.deepStrictEqual(yield* answer({ method, path: endpoint }), [405, "POST"])
      }
      assert.deepStrictEqual(yield* answer({ headers: { accept: "application/json" } }), [406, undefined])
      for (const accept of ["*/*", "text/event-stream", undefined]) {
        assert.deepStrictEqual(yield* answer({ headers: { accept } }), [200, undefined])
      }
    })
  )

  it.live(
    "A foreign origin or host gets 403 at both endpoints",
    () =>
      Effect.gen(function* () {
        const { connect, fetch } = yield* open(hello, { allowedOrigins: ["https://app.example"] })
        const { endpoint, post } = yield* connect()
        const status = (headers: Record<string, string>) => Effect.map(fetch({ headers }), ({ status }) => status)
        const posted = (headers: Record<string, string>) =>
          Effect.map(post(request("ping"), headers), ({ status }) => status)
        for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example" }, { origin: "null" }]) {
          assert.deepStrictEqual([yield* status(headers), yield* posted(headers)], [403, 403], JSON.stringify(headers))
        }
        const welcome = { origin: "https://app.example", host: "localhost" }
        assert.deepStrictEqual([yield* status(welcome), yield* posted(welcome)], [200, 202])
        assert.isAbove(endpoint.length, 40)
      }),
    verifies("http.origin.validated")
  )

  it.live("A preflight request of an allowed origin is answered", () =>
    Effect.gen(function* () {
      const origin = "https://app.example"
      const preflight = { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } }
      const asking = (options: Parameters<typeof open>[1]) =>
        Effect.gen(function* () {
          const { connect, fetch } = yield* open(hello, options)
          const { endpoint } = yield* connect()
          const { headers, status } = yield* fetch({ ...preflight, path: endpoint })
          return [status, headers["access-control-allow-origin"]]
        })
      assert.deepStrictEqual(yield* asking({ cors: true, allowedOrigins: [origin] }), [204, origin])
      assert.deepStrictEqual(yield* asking({ cors: true }), [204, undefined])
      assert.deepStrictEqual(yield* asking({ allowedOrigins: [origin] }), [405, undefined])
      const { connect } = yield* open(hello, { cors: true, allowedOrigins: [origin] })
      const { headers, initialize } = yield* connect({ headers: { origin } })
      assert.strictEqual(headers["access-control-allow-origin"], origin)
      yield* initialize()
    })
  )

  it.live("A POST from a principal that did not open the session gets 404", () =>
    Effect.gen(function* () {
      const around = (endpoint: Parameters<NonNullable<Parameters<typeof open>[1]>["around"] & object>[0]) =>
        Layer.provide(
          endpoint,
          HttpRouter.middleware<{ provides: Principal }>()(
            Effect.succeed((app) =>
              Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
                Effect.provideService(app, Principal, {
                  subject: headers["x-user"],
                  scopes: headers["x-scopes"]?.split(",") ?? [],
                  claims: { iss: headers["x-issuer"] }
                })
              )
            )
          ).layer
        )
      const { connect } = yield* open(whoami, { around })
      const ada = { "x-user": "ada", "x-scopes": "read", "x-issuer": "here" }
      const client = yield* connect({ headers: ada })
      yield* client.initialize()
      const others = [{ "x-user": "eve" }, { "x-user": undefined }, { "x-issuer": "elsewhere" }]
      for (const headers of others) assert.strictEqual((yield* client.post(callOf("whoami"), headers)).status, 404)
      assert.strictEqual(
        (yield* client.post(callOf("whoami"), { "x-scopes": "read,write", "x-extra": "hei" })).status,
        202
      )
      assert.strictEqual((yield* client.message).result.content[0].text, "ada read,write hei")
    })
  )

  it.live("A session over the limit gets 429 until another session ends", () =>
    Effect.gen(function* () {
      const { connect, fetch } = yield* open(hello, { sessions: 2, callerShare: 1 })
      const first = yield* connect()
      yield* connect()
      const refused = yield* fetch({})
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [429, "1"])
      yield* first.disconnect
      const status = Effect.map(fetch({}), ({ status }) => status)
      yield* Effect.repeat(status, { until: (status) => status === 200 })
    })
  )

  it.live("A caller over its share of sessions gets 429, but another address does not", () =>
    Effect.gen(function* () {
      const { connect, fetch } = yield* open(hello, { sessions: 4 })
      const first = yield* connect()
      yield* connect()
      const refused = yield* fetch({})
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(
        JSON.parse(yield* refused.text).error.message,
        "Too many sessions from this caller are open (limit 2)"
      )
      assert.strictEqual((yield* fetch({ localAddress: "127.0.0.2" })).status, 200)
      yield* first.disconnect
      const status = Effect.map(fetch({}), ({ status }) => status)
      yield* Effect.repeat(status, { until: (status) => status === 200 })
    })
  )

  it.live("A new GET during shutdown gets 503, but open sessions accept messages", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const wait = Tools.layer(Tool.make("wait", { description: "Waits." }), () =>
        Effect.as(Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(go)), "waited")
      )
      const { connect, fetch, shutdown } = yield* open(wait)
      const idle = yield* connect()
      const client = yield* connect()
      yield* client.initialize()
      yield* client.post(callOf("wait", {}, "w"))
      yield* Deferred.await(entered)
      const down = yield* Effect.forkChild(shutdown, { startImmediately: true })
      yield* Effect.flip(idle.next)
      assert.strictEqual((yield* fetch({})).status, 503)
      assert.strictEqual((yield* client.ask("tools/list", {}, "late")).error.code, -31503)
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* client.message).result.content[0].text, "waited")
      yield* Effect.flip(client.next)
      yield* Fiber.join(down)
    })
  )
})
