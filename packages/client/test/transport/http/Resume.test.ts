/** Streams of a session that outlive their connections, and how a client resumes them. */
import * as ClientHttp from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import { Closed } from "@effect-mcp/core/Peer"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Fiber, Queue } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Fake from "../../support/fake.ts"
import * as Sleeps from "./support/clock.ts"
import { sessions, shakeHands, type Wired, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const [, http] = Raw.clients[0]!
const closed = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => {
    assert.instanceOf(error, Closed)
    return error
  })
const note = (method: string) => ({ jsonrpc: "2.0", method })
const call = (peer: Wired) => Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })

interface Scene {
  readonly server: Raw.Raw
  readonly peer: Wired
  readonly wake: Sleeps.Sleeps["wake"]
  /** The GET that the session opened, not yet answered. */
  readonly get: Raw.Hit
}

const scene = Effect.fnUntraced(function* (
  version: (typeof sessions)[number] = "2025-11-25",
  timeout?: Duration.Input
) {
  const { clock, wake } = yield* Sleeps.make
  const server = yield* Raw.open
  const resume = { minDelay: 0, timeout }
  const peer = yield* Effect.provideService(wired({ url: server.url, resume }), Clock.Clock, clock)
  const get = yield* shakeHands(peer, server, { version })
  return { server, peer, wake, get } satisfies Scene
})
const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
  it.effect(title, () => Effect.provide(Effect.scoped(body), http) as Effect.Effect<void, unknown>, options)

/** The wait that a server asks for or a little more, because waits are jittered. */
const after = (millis: number) => (slept: number) => slept >= millis && slept <= millis * 1.1
const about = (millis: number) => (slept: number) => slept >= millis / 2 && slept <= millis

describe.each(sessions)("Request streams in %s", (version) => {
  test(
    "A request stream is resumed after its last event, as often as it ends",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene(version)
      yield* get.stream()
      const asked = yield* call(peer)
      const post = yield* server.next
      const { id } = post.message
      yield* post.stream()
      yield* post.event({ id: "a/0", retry: 777, data: "" })
      yield* post.event({ id: "a/1", data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* post.end
      yield* wake(after(777))
      const second = yield* server.next
      assert.strictEqual(second.method, "GET")
      assert.deepInclude(second.headers, {
        accept: "text/event-stream",
        "last-event-id": "a/1",
        "mcp-session-id": "session-1",
        "mcp-protocol-version": version
      })
      yield* second.stream()
      yield* second.event({ id: "a/2", retry: 778, data: note("notifications/message") })
      // The event that was cut off is dropped.
      yield* second.write(`id: a/3\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: {} })}\n`)
      yield* Queue.take(peer.heard)
      yield* second.destroy
      yield* wake(after(778))
      const third = yield* server.next
      assert.strictEqual(third.headers["last-event-id"], "a/2")
      yield* third.stream()
      yield* third.event({ id: "a/3", data: { jsonrpc: "2.0", id, result: { ok: true } } })
      assert.deepStrictEqual(yield* Fiber.join(asked), { ok: true })
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies("http.resume.last-event-id", "http.post-stream.client-polls", "http.post-stream.retry-respected")
  )

  test(
    "A request stream without event ids fails its request immediately",
    Effect.gen(function* () {
      const { get, peer, server } = yield* scene(version)
      yield* get.status(405)
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* post.end
      assert.deepInclude(yield* closed(asked), { unsent: false })
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "A request stream is resumed even if the server has no standalone stream",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene(version)
      yield* get.status(405)
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ id: "a/0", retry: 5, data: "" })
      yield* post.end
      yield* wake(after(5))
      const resumed = yield* server.next
      assert.strictEqual(resumed.headers["last-event-id"], "a/0")
      yield* resumed.stream()
      yield* resumed.event({ data: { jsonrpc: "2.0", id: post.message.id, result: { ok: true } } })
      assert.deepStrictEqual(yield* Fiber.join(asked), { ok: true })
    })
  )

  test(
    "A request stream is resumed even if an earlier session on the connection had no stream",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene(version)
      yield* get.status(405)
      const first = yield* call(peer)
      yield* (yield* server.next).result({})
      yield* Fiber.join(first)
      // No stream yet, and no rejection either.
      yield* (yield* shakeHands(peer, server, { id: "session-2", version })).status(503)
      const asked = yield* call(peer)
      const post = yield* server.take("POST")
      yield* post.stream()
      yield* post.event({ id: "b/0", retry: 5, data: "" })
      yield* post.end
      yield* wake(after(5))
      const resumed = yield* server.take("GET")
      assert.deepInclude(resumed.headers, { "last-event-id": "b/0", "mcp-session-id": "session-2" })
      yield* resumed.stream()
      yield* resumed.event({ data: { jsonrpc: "2.0", id: post.message.id, result: { ok: true } } })
      assert.deepStrictEqual(yield* Fiber.join(asked), { ok: true })
    })
  )
})

describe("Second handshakes", () => {
  test(
    "A second handshake is not delayed by the previous session's stream",
    Effect.gen(function* () {
      const { get, peer, server } = yield* scene()
      const second = yield* shakeHands(peer, server, { id: "session-2" })
      assert.strictEqual(second.headers["mcp-session-id"], "session-2")
      yield* get.destroy
      yield* second.stream()
    })
  )
})

describe("Request streams", () => {
  test(
    "A request stream is abandoned when the server refuses to resume it",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.stream()
      for (const status of [400, 405, 410, 200]) {
        const asked = yield* call(peer)
        const post = yield* server.next
        yield* post.stream()
        yield* post.event({ id: "1", retry: 5, data: "" })
        yield* post.end
        yield* wake(after(5))
        yield* (yield* server.take("GET")).status(status, "no")
        assert.strictEqual((yield* closed(asked)).cause?.reason, "Read")
      }
    })
  )

  test(
    "A request stream is resumed with growing delays, then abandoned",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.stream()
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ id: "1", data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* post.destroy
      yield* wake(about(500))
      yield* (yield* server.take("GET")).status(503)
      yield* wake(about(1000))
      yield* (yield* server.take("GET")).destroy
      yield* wake(about(2000))
      // A connection that delivers an event counts as a success.
      const good = yield* server.take("GET")
      yield* good.stream()
      yield* good.write("retry: 1500\n\n")
      yield* good.end
      yield* wake(after(1500))
      for (const slept of [1650, 2000, 4000, 8000]) {
        const empty = yield* server.take("GET")
        yield* empty.stream()
        yield* empty.end
        yield* wake((millis) => millis >= 1500 && about(slept)(millis))
      }
      yield* (yield* server.take("GET")).status(500)
      assert.include((yield* closed(asked)).message, "resumed")
    })
  )

  for (const end of ["end", "destroy"] as const)
    test(
      `A resumed stream without events for longer than \`timeout\` is resumed again after its ${end}`,
      Effect.gen(function* () {
        const { get, peer, server, wake } = yield* scene("2025-11-25", "1 second")
        yield* get.stream()
        const asked = yield* call(peer)
        const post = yield* server.next
        yield* post.stream()
        yield* post.event({ id: "1", retry: 5, data: "" })
        yield* post.end
        yield* wake(after(5))
        const silent = yield* server.take("GET")
        yield* silent.stream()
        yield* silent.write(": the handler still runs\n\n")
        yield* TestClock.adjust("1 minute")
        yield* silent[end]
        yield* wake(about(1000))
        const resumed = yield* server.take("GET")
        yield* resumed.stream()
        yield* resumed.event({ data: { jsonrpc: "2.0", id: post.message.id, result: { ok: true } } })
        assert.deepStrictEqual(yield* Fiber.join(asked), { ok: true })
      })
    )

  test(
    "A request fails if no connection succeeds within `timeout`",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene("2025-11-25", "1 second")
      yield* get.stream()
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ id: "1", retry: 5, data: "" })
      yield* post.end
      yield* wake(after(5))
      yield* (yield* server.take("GET")).status(503)
      yield* wake(about(1000))
      const failing = yield* server.take("GET")
      yield* TestClock.adjust("1 second")
      yield* failing.status(503)
      assert.include((yield* closed(asked)).message, "resumed")
    })
  )

  test(
    "Interrupting a request while its stream is resumed cancels it",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.stream()
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ id: "1", retry: 3, data: "" })
      yield* post.end
      yield* wake(after(3))
      const resumed = yield* server.take("GET")
      yield* resumed.stream()
      yield* Fiber.interrupt(asked)
      yield* resumed.hungUp
      const cancel = yield* server.next
      assert.strictEqual(cancel.message.method, "notifications/cancelled")
      yield* cancel.status(202)
    })
  )

  test(
    "A request stream ends with its session",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.stream()
      yield* get.event({ data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream()
      yield* post.event({ id: "1", retry: 3, data: "" })
      yield* post.end
      yield* wake(after(3))
      yield* (yield* server.take("GET")).status(404)
      const error = yield* closed(asked)
      // The request had been sent.
      assert.isFalse(error.unsent)
      assert.strictEqual(error.cause?.reason, "SessionLost")
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).reason, "SessionLost")
    })
  )
})

describe("Session streams", () => {
  test(
    "A session stream that ended or broke reopens at its last position",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.stream()
      yield* get.event({ id: "g/1", retry: 9, data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* get.end
      yield* wake(after(9))
      const second = yield* server.next
      assert.deepInclude(second.headers, { "last-event-id": "g/1", "mcp-session-id": "session-1" })
      yield* second.stream()
      yield* second.event({ id: "g/2", data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* second.destroy
      yield* wake(after(9))
      const third = yield* server.next
      assert.strictEqual(third.headers["last-event-id"], "g/2")
      yield* third.stream()
    })
  )

  test(
    "A refused session stream is not requested again",
    Effect.gen(function* () {
      const { get, peer, server } = yield* scene()
      yield* get.status(405)
      peer.notify("notifications/roots/list_changed")
      yield* (yield* server.next).status(202)
      const asked = yield* call(peer)
      yield* (yield* server.next).result({})
      yield* Fiber.join(asked)
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies("http.get.accept")
  )

  test(
    "A session stream is requested again if the server is busy or still has the old one",
    Effect.gen(function* () {
      const { get, server, wake } = yield* scene()
      yield* get.stream()
      yield* get.destroy
      yield* wake(about(1000))
      for (const [status, slept] of [
        [409, 2000],
        [408, 4000],
        [425, 8000]
      ] as const) {
        yield* (yield* server.take("GET")).status(status)
        yield* wake(about(slept))
      }
      yield* (yield* server.take("GET")).stream()
    })
  )

  test(
    "A session stream is retried after failures until a 404 ends the session",
    Effect.gen(function* () {
      const { get, peer, server, wake } = yield* scene()
      yield* get.status(503)
      for (const slept of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
        yield* wake(about(slept))
        yield* (yield* server.take("GET")).destroy
      }
      yield* wake(about(30_000))
      const got = yield* server.take("GET")
      yield* got.stream()
      yield* got.event({ data: note("notifications/message") })
      yield* Queue.take(peer.heard)
      yield* got.end
      yield* wake(about(500))
      yield* (yield* server.take("GET")).status(404)
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).reason, "SessionLost")
    })
  )
})

describe("Stream options", () => {
  it.effect("An option that is not a duration fails the connection to a server with sessions", () =>
    Effect.gen(function* () {
      const answer = Fake.server("2025-11-25", ({ message }) => Fake.result(message, { content: [] }))
      const connector = ClientHttp.open({ url: "https://mcp.example.com/mcp", resume: { delay: "1e3 millis" } })
      const error = yield* Effect.flip(McpClient.open(connector, { reconnect: false })).pipe(
        Effect.provideService(HttpClient.HttpClient, answer),
        Effect.provideService(ClientHttp.ServerEraCache, new Map())
      )
      assert.include(error.message, "1e3 millis")
    })
  )
})
