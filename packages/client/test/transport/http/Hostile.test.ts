/** Answers that no server should send, after which a conversation continues or ends at once. */
import type { Citation } from "@effect-mcp/spec/verifies"
import { Closed } from "@effect-mcp/core/Peer"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { HttpClient } from "effect/http"
import * as Sleeps from "./support/clock.ts"
import { ask, initialized, shakeHands, type Wired, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const [, http] = Raw.clients[0]!
const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
  it.effect(title, () => Effect.provide(Effect.scoped(body), http) as Effect.Effect<void, unknown>, options)
const closed = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => {
    assert.instanceOf(error, Closed)
    return error
  })
const call = (peer: Wired) => Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })
const between = (least: number, most: number) => (slept: number) => slept >= least && slept <= most

/** A wire whose sleeps end when the test says so. */
const scene = Effect.gen(function* () {
  const { clock, wake } = yield* Sleeps.make
  const server = yield* Raw.open
  const peer = yield* Effect.provideService(wired({ url: server.url }), Clock.Clock, clock)
  return { server, peer, wake }
})

describe("Endless bodies", () => {
  test(
    "An endless body of a lost session's answer is not read to its end",
    Effect.gen(function* () {
      const { peer, server, wake } = yield* scene
      yield* (yield* shakeHands(peer, server)).status(405)
      const asked = yield* call(peer)
      const post = yield* server.next
      yield* post.stream({ "content-type": "text/plain" }, 404)
      yield* wake(between(1000, 1000))
      assert.deepInclude((yield* closed(asked)).cause, { reason: "SessionLost" })
      yield* post.hungUp
    })
  )

  test(
    "An endless body accepting a notification is closed by the client",
    Effect.gen(function* () {
      const { peer, server, wake } = yield* scene
      yield* (yield* shakeHands(peer, server)).status(405)
      peer.notify("notifications/roots/list_changed")
      const post = yield* server.next
      yield* post.stream({}, 202)
      yield* wake(between(1000, 1000))
      yield* post.hungUp
    })
  )

  test(
    "An endless body of a redirect is not read to its end",
    Effect.gen(function* () {
      const { peer, server, wake } = yield* scene
      const asked = yield* ask(peer, "tools/list")
      yield* (yield* server.next).stream({ location: "/there" }, 307)
      yield* wake(between(1000, 1000))
      yield* (yield* server.next).result({ tools: [] })
      yield* Fiber.join(asked)
    })
  )
})

describe("The initialized notification", () => {
  /** Everything before that body. */
  const begun = Effect.gen(function* () {
    const parts = yield* scene
    const { peer, server } = parts
    const asked = yield* Effect.forkChild(peer.request("initialize", {}, { cancellable: false }), {
      startImmediately: true
    })
    const hello = yield* server.next
    yield* hello.result({ ...initialized, protocolVersion: "2025-11-25" }, { "mcp-session-id": "session-1" })
    yield* Fiber.join(asked)
    peer.notify("notifications/initialized")
    return parts
  })

  test(
    "The initialized notification is resent if its connection breaks",
    Effect.gen(function* () {
      const { server, wake } = yield* begun
      yield* (yield* server.next).destroy
      yield* wake(between(80, 120))
      const again = yield* server.next
      assert.strictEqual(again.message.method, "notifications/initialized")
      yield* again.status(202)
      assert.strictEqual((yield* server.next).method, "GET")
    })
  )

  test(
    "A session that ends at the initialized notification leaves waiting requests unsent",
    Effect.gen(function* () {
      const { peer, server } = yield* begun
      const asked = yield* call(peer)
      yield* (yield* server.next).status(404)
      const error = yield* closed(asked)
      assert.deepInclude(error.cause, { reason: "SessionLost" })
      assert.isTrue(error.unsent)
      peer.notify("notifications/roots/list_changed")
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).reason, "SessionLost")
      assert.strictEqual(yield* server.waiting, 0)
    })
  )
})

test(
  "An answer is resent if the server or its proxy fails, but not if it is rejected",
  Effect.gen(function* () {
    const { peer, server, wake } = yield* scene
    const get = yield* shakeHands(peer, server)
    yield* get.stream()
    yield* get.event({ data: { jsonrpc: "2.0", id: "q", method: "roots/list" } })
    yield* (yield* server.next).status(502, "<html>")
    yield* wake(between(80, 120))
    yield* (yield* server.next).destroy
    yield* wake(between(160, 240))
    const answer = yield* server.next
    assert.deepInclude(answer.message, { id: "q", result: {} })
    yield* answer.status(400)
    const other = yield* call(peer)
    yield* (yield* server.next).result({})
    yield* Fiber.join(other)
    assert.strictEqual(yield* server.waiting, 0)
  })
)

it.effect("An HTTP client that interrupts itself fails its request", () =>
  Effect.gen(function* () {
    const peer = yield* wired({ url: "http://127.0.0.1:1/" })
    const asked = yield* ask(peer, "tools/list")
    assert.instanceOf(yield* Effect.flip(Fiber.join(asked)), Closed)
  }).pipe(
    Effect.scoped,
    Effect.provideService(
      HttpClient.HttpClient,
      HttpClient.make(() => Effect.interrupt)
    )
  )
)

describe("Busy servers", () => {
  for (const status of [429, 503]) {
    test(
      `A busy server is retried after its Retry-After (${status}) if that is soon`,
      Effect.gen(function* () {
        const { peer, server, wake } = yield* scene
        const asked = yield* ask(peer, "tools/call", { name: "t" })
        yield* (yield* server.next).status(status, "", { "retry-after": "2" })
        yield* wake(between(2000, 2500))
        const again = yield* server.next
        yield* again.result({ content: [] })
        yield* Fiber.join(asked)
      })
    )
  }

  test(
    "A busy server is retried three times, but never without Retry-After or with a long delay",
    Effect.gen(function* () {
      const { peer, server, wake } = yield* scene
      const asked = yield* ask(peer, "tools/list")
      for (const _ of [1, 2, 3]) {
        yield* (yield* server.next).status(503, "", { "retry-after": "0" })
        yield* wake(between(500, 625))
      }
      yield* (yield* server.next).status(503, "", { "retry-after": "0" })
      assert.deepInclude((yield* closed(asked)).cause, { status: 503 })
      for (const after of ["", "11", "soon", "-1", "Wed, 21 Oct 2099 07:28:00 GMT"]) {
        const asked = yield* ask(peer, "tools/list")
        yield* (yield* server.next).status(429, "", after === "" ? {} : { "retry-after": after })
        assert.deepInclude((yield* closed(asked)).cause, { status: 429 })
      }
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "A caller interrupted while a server is busy sends no further request",
    Effect.gen(function* () {
      const { peer, server, wake } = yield* scene
      const asked = yield* ask(peer, "tools/list")
      yield* (yield* server.next).status(503, "", { "retry-after": "1" })
      // Read only once the wait has started.
      const waits = yield* Effect.forkChild(
        wake(() => false),
        { startImmediately: true }
      )
      yield* Fiber.interrupt(asked)
      yield* Fiber.interrupt(waits)
      const other = yield* ask(peer, "tools/list")
      const post = yield* server.next
      assert.strictEqual(post.message.id, 2)
      yield* post.result({})
      yield* Fiber.join(other)
    })
  )
})
