/** Servers that report a forgotten session with 400. */
import type { Citation } from "@effect-mcp/spec/verifies"
import type { Closed } from "@effect-mcp/core/Peer"
import { McpError } from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Queue } from "effect"
import * as Sleeps from "./support/clock.ts"
import { sessions, shakeHands, type Wired, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const [, http] = Raw.clients[0]!
const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
  it.effect(title, () => Effect.provide(Effect.scoped(body), http) as Effect.Effect<void, unknown>, options)
const call = (peer: Wired) => Effect.forkChild(peer.request("tools/call", { name: "t" }), { startImmediately: true })
const failed = <A, E>(fiber: Fiber.Fiber<A, E>) => Effect.flip(Fiber.join(fiber))

const error = (message: string, id?: unknown, code = -32000) =>
  JSON.stringify({ jsonrpc: "2.0", error: { code, message }, ...(id === undefined ? {} : { id }) })

/** Messages of real servers. */
const sayings: ReadonlyArray<readonly [who: string, body: string]> = [
  ["older SDK examples", error("Bad Request: No valid session ID provided", null)],
  ["the reference server", error("Bad Request: No valid session ID provided")],
  ["SDK transports that were never initialized", error("Bad Request: Server not initialized", null)],
  ["older SDK examples on GET", "Invalid or missing session ID"],
  ["other servers, in their own JSON", JSON.stringify({ error: "Invalid or missing session ID" })]
]

const lost = { reason: "SessionLost", status: 400 } as const

const open = Effect.fnUntraced(function* (options?: { readonly id: null }, version = sessions[0]!) {
  const server = yield* Raw.open
  const peer = yield* wired({ url: server.url })
  yield* (yield* shakeHands(peer, server, { version, ...options })).status(405)
  return { server, peer }
})

describe.each(sessions)("%s sessions lost with 400", (version) => {
  for (const [who, body] of sayings) {
    test(
      `A 400 with the text of ${who} ends the session, and its requests are unsent`,
      Effect.gen(function* () {
        const { peer, server } = yield* open(undefined, version)
        const calls = [yield* call(peer), yield* call(peer)]
        const [first, second] = [yield* server.next, yield* server.next]
        yield* first.status(400, body)
        assert.deepInclude((yield* failed(calls[0]!)) as Closed, { _tag: "Closed", unsent: true })
        yield* second.status(400, body)
        const { cause, unsent } = (yield* failed(calls[1]!)) as Closed
        assert.isTrue(unsent)
        assert.deepInclude(cause, lost)
        assert.include(cause?.message, body)
        assert.deepInclude(yield* Effect.flip(peer.awaitClosed), lost)
        assert.strictEqual(yield* server.waiting, 0)
      })
    )
  }
})

describe("Sessions lost with 400", () => {
  test(
    "A notification answered with 400 also loses the session",
    Effect.gen(function* () {
      const { peer, server } = yield* open()
      peer.notify("notifications/roots/list_changed")
      const asked = yield* call(peer)
      yield* (yield* server.next).status(400, error("Bad Request: Server not initialized", null))
      assert.deepInclude((yield* failed(asked)) as Closed, { _tag: "Closed", unsent: true })
      assert.deepInclude(yield* Effect.flip(peer.awaitClosed), lost)
    })
  )

  test(
    "A session stream answered with 400 also loses the session",
    Effect.gen(function* () {
      const { clock, wake } = yield* Sleeps.make
      const server = yield* Raw.open
      const peer = yield* Effect.provideService(wired({ url: server.url }), Clock.Clock, clock)
      const get = yield* shakeHands(peer, server)
      yield* get.stream()
      yield* get.event({ data: { jsonrpc: "2.0", method: "notifications/message" } })
      yield* Queue.take(peer.heard)
      yield* get.end
      yield* wake(() => true)
      yield* (yield* server.take("GET")).status(400, "Invalid or missing session ID")
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).reason, "SessionLost")
    })
  )
})

describe("Sessions that survive a 400", () => {
  const stays: ReadonlyArray<readonly [what: string, body: (id: number) => string, answer: boolean]> = [
    ["that answers the request itself", (id) => error("No valid session ID provided", id), true],
    ["that names another problem", () => error("Bad Request: Unsupported protocol version", null), true],
    ["without a body", () => "", false],
    ["with an unrelated page", () => `<html>${"session id ".repeat(100)}`, false],
    ["with a message that is not an error", () => JSON.stringify({ jsonrpc: "2.0", method: "session id" }), false]
  ]
  for (const [what, body, answer] of stays) {
    test(
      `A session is not lost by a 400 ${what}`,
      Effect.gen(function* () {
        const { peer, server } = yield* open()
        const asked = yield* call(peer)
        const post = yield* server.next
        yield* post.status(400, body(post.message.id))
        const refused = yield* failed(asked)
        if (answer) assert.instanceOf(refused, McpError)
        else assert.deepInclude((refused as Closed).cause, { reason: "Status", status: 400 })
        const again = yield* call(peer)
        yield* (yield* server.next).result({})
        yield* Fiber.join(again)
      })
    )
  }

  test(
    "A sessionless connection does not end on a 400",
    Effect.gen(function* () {
      const { peer, server } = yield* open({ id: null })
      const asked = yield* call(peer)
      yield* (yield* server.next).status(400, error("Bad Request: Server not initialized", null))
      assert.instanceOf(yield* failed(asked), McpError)
    })
  )

  test(
    "A 400 to a session's first GET only means that there is no such stream",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      yield* (yield* shakeHands(peer, server)).status(400, "Invalid or missing session ID")
      const asked = yield* call(peer)
      yield* (yield* server.next).result({})
      yield* Fiber.join(asked)
    })
  )
})
