/** Streamable HTTP with sessions (2025-03-26 to 2025-11-25), as a client sends and reads it. */
import { Closed } from "@effect-mcp/core/Peer"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { sessions, shakeHands, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const closed = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => {
    assert.instanceOf(error, Closed)
    return error
  })

const note = (method: string, params?: object) => ({ jsonrpc: "2.0", method, ...(params && { params }) })
const [, http] = Raw.clients[0]!
const cases = sessions.flatMap((version) => Raw.clients.map(([name, layer]) => ({ version, name, layer })))

describe.each(cases)("Stateful $version sessions over $name", ({ layer, version }) => {
  const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
    it.effect(title, () => Effect.provide(Effect.scoped(body), layer) as Effect.Effect<void, unknown>, options)

  test(
    "A session starts without headers, then sends its id and revision with every request",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url, headers: { "x-mine": "1" } })
      const params = { protocolVersion: version, capabilities: {} }
      const asked = yield* Effect.forkChild(peer.request("initialize", params, { cancellable: false }))
      const hello = yield* server.next
      assert.notProperty(hello.headers, "mcp-session-id")
      assert.notProperty(hello.headers, "mcp-protocol-version")
      assert.notProperty(hello.headers, "mcp-method")
      assert.strictEqual(hello.headers["x-mine"], "1")
      yield* hello.result({ protocolVersion: version, capabilities: {} }, { "Mcp-Session-Id": "session-1" })
      yield* Fiber.join(asked)
      peer.notify("notifications/initialized")
      const said = yield* server.next
      const expected = { "mcp-session-id": "session-1", "mcp-protocol-version": version, "x-mine": "1" }
      assert.deepInclude(said.headers, expected)
      assert.deepStrictEqual(said.message, note("notifications/initialized"))
      assert.include(said.headers.accept, "application/json")
      yield* said.status(202)
      const get = yield* server.next
      assert.strictEqual(get.method, "GET")
      assert.deepInclude(get.headers, { ...expected, accept: "text/event-stream" })
      assert.notProperty(get.headers, "last-event-id")
      yield* get.status(405)
      const listing = yield* Effect.forkChild(peer.request("tools/list"))
      const list = yield* server.next
      assert.deepInclude(list.headers, expected)
      assert.notProperty(list.headers, "mcp-method")
      yield* list.result({})
      yield* Fiber.join(listing)
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies(
      "http.session.id-sent",
      "http.version.header-sent",
      "http.version.header-negotiated",
      "http.get.accept",
      "http.post.own-request",
      "http.post.accept"
    )
  )

  test(
    "A session's id and revision can also arrive in events",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const asked = yield* Effect.forkChild(peer.request("initialize"))
      const hello = yield* server.next
      yield* hello.stream({ "mcp-session-id": "session-2" })
      yield* hello.event({ data: { jsonrpc: "2.0", id: 1, result: { protocolVersion: version } } })
      yield* Fiber.join(asked)
      yield* hello.end
      peer.notify("notifications/initialized")
      const said = yield* server.next
      assert.deepInclude(said.headers, { "mcp-session-id": "session-2", "mcp-protocol-version": version })
      yield* said.status(202)
      yield* (yield* server.next).status(405)
    })
  )

  test(
    "Messages that belong to no request arrive on the session stream",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url }, ({ params }) => Effect.succeed({ roots: [params] }))
      const get = yield* shakeHands(peer, server, { version })
      yield* get.stream()
      yield* get.event({ data: note("notifications/tools/list_changed") })
      assert.deepInclude(yield* Queue.take(peer.heard), { method: "notifications/tools/list_changed" })
      yield* get.event({ data: { jsonrpc: "2.0", id: "q", method: "roots/list", params: { a: 1 } } })
      const answer = yield* server.next
      assert.strictEqual(answer.method, "POST")
      assert.deepStrictEqual(answer.message, { jsonrpc: "2.0", id: "q", result: { roots: [{ a: 1 }] } })
      assert.strictEqual(answer.headers["mcp-session-id"], "session-1")
      yield* answer.status(202)
    })
  )

  test(
    "A question on a request's stream is answered while that stream is open",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url }, () => Effect.succeed({ model: "m" }))
      yield* (yield* shakeHands(peer, server, { version })).status(405)
      const call = yield* Effect.forkChild(peer.request("tools/call", { name: "t" }))
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ data: { jsonrpc: "2.0", id: 1, method: "sampling/createMessage", params: {} } })
      const answer = yield* server.next
      assert.deepStrictEqual(answer.message, { jsonrpc: "2.0", id: 1, result: { model: "m" } })
      // Nothing waits for its acceptance.
      yield* post.event({ data: { jsonrpc: "2.0", id: post.message.id, result: { ok: true } } })
      assert.deepStrictEqual(yield* Fiber.join(call), { ok: true })
      yield* answer.status(202)
    })
  )

  test(
    "A notification is accepted before later messages are sent, up to a time limit",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      yield* (yield* shakeHands(peer, server, { version })).status(405)
      peer.notify("notifications/roots/list_changed")
      peer.notify("notifications/progress", { progressToken: 1, progress: 1 })
      const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
      const first = yield* server.next
      assert.strictEqual(first.message.method, "notifications/roots/list_changed")
      assert.strictEqual(yield* server.waiting, 0)
      yield* first.status(202)
      const second = yield* server.next
      assert.strictEqual(second.message.method, "notifications/progress")
      assert.strictEqual(yield* server.waiting, 0)
      // A rejection counts like an acceptance.
      yield* second.status(400)
      const third = yield* server.next
      assert.strictEqual(third.message.method, "tools/list")
      yield* third.result({})
      yield* Fiber.join(list)
    })
  )

  test(
    "No request is sent before the session stream is open or refused",
    Effect.gen(function* () {
      for (const refused of [false, true]) {
        const server = yield* Raw.open
        const peer = yield* wired({ url: server.url })
        const get = yield* shakeHands(peer, server, { version })
        const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
        // Time enough for a request to arrive, if one had been sent.
        for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
        assert.strictEqual(yield* server.waiting, 0)
        yield* refused ? get.status(405) : get.stream()
        yield* (yield* server.next).result({})
        yield* Fiber.join(list)
      }
    })
  )

  test(
    "Cancelling a request sends a notification and closes its POST",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      yield* (yield* shakeHands(peer, server, { version })).status(405)
      const call = yield* Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })
      const post = yield* server.next
      yield* post.stream()
      yield* Fiber.interrupt(call)
      yield* post.hungUp
      const cancel = yield* server.next
      assert.strictEqual(cancel.message.method, "notifications/cancelled")
      assert.strictEqual(cancel.message.params.requestId, post.message.id)
      assert.strictEqual(cancel.headers["mcp-session-id"], "session-1")
      // Nothing waits for that.
      const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
      yield* (yield* server.next).result({})
      yield* Fiber.join(list)
      yield* cancel.status(202)
    }),
    verifies("http.disconnect.explicit-cancel")
  )
})

describe("Stateful sessions", () => {
  it.effect(
    "A session id is never sent to another origin",
    () =>
      Effect.gen(function* () {
        const server = yield* Raw.open
        const other = yield* Raw.open
        const peer = yield* wired({ url: server.url })
        yield* (yield* shakeHands(peer, server, { id: "a-secret" })).status(307, "", {
          location: `${other.origin}/get`
        })
        const asked = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
        const post = yield* server.next
        assert.strictEqual(post.headers["mcp-session-id"], "a-secret")
        yield* post.status(307, "", { location: `${other.origin}/post` })
        const error = yield* closed(asked)
        assert.deepInclude(error.cause, { reason: "Status", status: 307 })
        assert.notInclude(JSON.stringify([error, String(error)]), "a-secret")
        assert.strictEqual(yield* other.waiting, 0)
      }).pipe(Effect.scoped, Effect.provide(http)),
    verifies("http.session.client-keeps-id-safe")
  )

  it.effect("Only requests are sent before a session is initialized", () =>
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      peer.notify("notifications/roots/list_changed")
      const asked = yield* Effect.forkChild(peer.request("server/discover"), { startImmediately: true })
      const post = yield* server.next
      assert.strictEqual(post.message.method, "server/discover")
      yield* post.stream()
      yield* post.event({ data: { jsonrpc: "2.0", id: 1, method: "roots/list" } })
      yield* post.event({ data: { jsonrpc: "2.0", id: post.message.id, result: {} } })
      yield* Fiber.join(asked)
      assert.strictEqual(yield* server.waiting, 0)
    }).pipe(Effect.scoped, Effect.provide(http))
  )

  it.effect(
    "A 2025-03-26 session receives an array of answers and answers an array with one",
    () =>
      Effect.gen(function* () {
        const server = yield* Raw.open
        const asked = yield* Deferred.make<void>()
        const peer = yield* wired({ url: server.url }, () => Effect.as(Deferred.succeed(asked, undefined), { ok: 1 }), {
          batches: () => true
        })
        const get = yield* shakeHands(peer, server, { version: "2025-03-26" })
        yield* get.stream()
        const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
        const post = yield* server.next
        yield* post.json([
          note("notifications/message"),
          { jsonrpc: "2.0", id: post.message.id, result: { tools: [] } }
        ])
        assert.deepStrictEqual(yield* Fiber.join(list), { tools: [] })
        assert.deepInclude(yield* Queue.take(peer.heard), { method: "notifications/message" })
        yield* get.event({
          data: [
            { jsonrpc: "2.0", id: "a", method: "roots/list" },
            { jsonrpc: "2.0", id: "b", method: "roots/list" }
          ]
        })
        const answers = yield* server.next
        assert.deepStrictEqual(
          answers.message.map(({ id, result }: any) => [id, result]),
          [
            ["a", { ok: 1 }],
            ["b", { ok: 1 }]
          ]
        )
        yield* answers.status(202)
      }).pipe(Effect.scoped, Effect.provide(http)),
    verifies("http.post.body-batch")
  )
})
