/** How a session over Streamable HTTP ends (2025-03-26 to 2025-11-25): closed by the client, or lost by the server. */
import { Closed } from "@effect-mcp/core/Peer"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Scope } from "effect"
import * as Sleeps from "./support/clock.ts"
import { sessions, shakeHands, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const closed = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => {
    assert.instanceOf(error, Closed)
    return error
  })

const [, http] = Raw.clients[0]!
const cases = sessions.flatMap((version) => Raw.clients.map(([name, layer]) => ({ version, name, layer })))

/** A session whose sleeps the test ends. */
const timed = Effect.gen(function* () {
  const { clock, wake } = yield* Sleeps.make
  const server = yield* Raw.make(true)
  const scope = yield* Scope.make()
  const peer = yield* wired({ url: server.url }).pipe(Scope.provide(scope), Effect.provideService(Clock.Clock, clock))
  yield* (yield* shakeHands(peer, server)).status(405)
  const end = Effect.provideService(Scope.close(scope, Exit.void), Clock.Clock, clock)
  return { server, peer, wake, end }
})

const second = (millis: number) => millis === 1000

describe.each(cases)("$version sessions over $name", ({ layer, version }) => {
  const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
    it.effect(title, () => Effect.provide(Effect.scoped(body), layer) as Effect.Effect<void, unknown>, options)

  test(
    "Closing the scope sends DELETE for the session",
    Effect.gen(function* () {
      const server = yield* Raw.make(true)
      const scope = yield* Scope.make()
      const peer = yield* Scope.provide(wired({ url: server.url, headers: { "x-mine": "1" } }), scope)
      const get = yield* shakeHands(peer, server, { version })
      yield* get.stream()
      peer.notify("notifications/roots/list_changed")
      const ended = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      const last = yield* server.next
      assert.strictEqual(last.message.method, "notifications/roots/list_changed")
      yield* last.status(202)
      const bye = yield* server.next
      assert.strictEqual(bye.method, "DELETE")
      assert.deepInclude(bye.headers, {
        "mcp-session-id": "session-1",
        "mcp-protocol-version": version,
        "x-mine": "1"
      })
      yield* bye.status(405)
      yield* Fiber.join(ended)
      yield* get.hungUp
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies("http.session.delete")
  )

  test(
    "A 404 loses the session: requests are unsent and the connection ends",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      yield* (yield* shakeHands(peer, server, { version })).status(405)
      const calls = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })
      )
      const [first, second] = [yield* server.next, yield* server.next]
      yield* first.json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }, 404)
      yield* second.status(404)
      for (const call of calls) {
        const error = yield* closed(call)
        assert.strictEqual(error.cause?.reason, "SessionLost")
        assert.isTrue(error.unsent)
      }
      const over = yield* Effect.flip(peer.awaitClosed)
      assert.strictEqual(over.reason, "SessionLost")
      const late = yield* Effect.flip(peer.request("tools/list"))
      assert.deepInclude(late, { _tag: "Closed", unsent: true })
    }),
    verifies("http.session.client-reinitializes")
  )

  test(
    "A 404 without a session only fails its own request",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      yield* (yield* shakeHands(peer, server, { version, id: null })).status(404)
      const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
      const post = yield* server.next
      assert.notProperty(post.headers, "mcp-session-id")
      yield* post.status(404)
      assert.deepInclude((yield* closed(list)).cause, { reason: "Status", status: 404 })
      const again = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
      yield* (yield* server.next).result({})
      yield* Fiber.join(again)
    })
  )
})

describe("Ending a session", () => {
  it.effect("A session waits a limited time for a notification, its last messages and its DELETE", () =>
    Effect.gen(function* () {
      const { end, peer, server, wake } = yield* timed
      peer.notify("notifications/roots/list_changed")
      yield* server.next
      const list = yield* Effect.forkChild(peer.request("tools/list"), { startImmediately: true })
      yield* wake(second)
      yield* (yield* server.next).result({})
      yield* Fiber.join(list)
      const ended = yield* Effect.forkChild(end, { startImmediately: true })
      yield* wake(second)
      assert.strictEqual((yield* server.next).method, "DELETE")
      yield* wake(second)
      yield* Fiber.join(ended)
    }).pipe(Effect.scoped, Effect.provide(http))
  )

  it.effect("A lost session waits a limited time for its other requests", () =>
    Effect.gen(function* () {
      const { end, peer, server, wake } = yield* timed
      const calls = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })
      )
      yield* (yield* server.next).status(404)
      yield* server.next
      const [first, second] = calls
      assert.isTrue((yield* closed(first!)).unsent)
      yield* wake((millis) => millis === 5000)
      assert.deepInclude((yield* closed(second!)).cause, { reason: "SessionLost" })
      // There is nothing left to end.
      yield* end
      assert.strictEqual(yield* server.waiting, 0)
    }).pipe(Effect.scoped, Effect.provide(http))
  )
})
