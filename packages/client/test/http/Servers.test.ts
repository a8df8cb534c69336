/** What a client over HTTP keeps of a server that it found out, for its next connection to the same URL. */
import * as Http from "@effect-mcp/client/connector/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Raw from "./support/raw.ts"

const [, http] = Raw.clients[0]!

const test = (title: string, body: Effect.Effect<void, unknown, any>) =>
  it.effect(
    title,
    () =>
      Effect.scoped(body).pipe(Effect.provideService(Http.Servers, new Map()), Effect.provide(http)) as Effect.Effect<
        void,
        unknown
      >
  )

const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: {},
  ttlMs: 0,
  cacheScope: "private"
}

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: { name: "raw", version: "1" }
}

type Options = McpClient.Options & Partial<Http.Options>

/** A client that connects meanwhile. */
const connecting = (server: Raw.Raw, options: Options = {}) =>
  Effect.forkScoped(McpClient.open(Http.open({ url: server.url, ...options }), options), { startImmediately: true })

/** Answers the rest of a handshake, whose `initialize` was taken. */
const agree = Effect.fnUntraced(function* (server: Raw.Raw, hello: Raw.Hit) {
  assert.strictEqual(hello.message.method, "initialize")
  yield* hello.result(initialized)
  yield* (yield* server.take("POST")).status(202)
  yield* (yield* server.take("GET")).status(405)
})

/** Takes the GET of the older transport, and says where to POST. */
const openSse = Effect.fnUntraced(function* (server: Raw.Raw) {
  const get = yield* server.take("GET")
  yield* get.stream()
  yield* get.event({ event: "endpoint", data: "/messages?id=1" })
  const hello = yield* server.take("POST")
  assert.strictEqual(hello.path, "/messages?id=1")
  assert.strictEqual(hello.message.method, "initialize")
  yield* hello.status(202)
  yield* get.event({
    data: { jsonrpc: "2.0", id: hello.message.id, result: { ...initialized, protocolVersion: "2024-11-05" } }
  })
  yield* (yield* server.take("POST")).status(202)
  return get
})

const refusal = (code: number, data?: object) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message: "No", ...(data && { data }) }
})

describe("what was found out of a server", () => {
  test(
    "is remembered: one of the older era is not probed again, another URL is",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const first = yield* connecting(server)
      yield* (yield* server.next).status(400)
      yield* agree(server, yield* server.next)
      yield* Fiber.join(first)
      const second = yield* connecting(server, { url: `${server.url}?tenant=1` })
      yield* agree(server, yield* server.next)
      yield* Fiber.join(second)
      yield* connecting(server, { url: `${server.origin}/other` })
      assert.strictEqual((yield* server.next).message.method, "server/discover")
    })
  )

  test(
    "is found out again when it is not true any more",
    Effect.gen(function* () {
      const server = yield* Raw.open
      ;(yield* Http.Servers).set(server.url, "streamable")
      const connected = yield* connecting(server)
      const hello = yield* server.next
      assert.strictEqual(hello.message.method, "initialize")
      yield* hello.json({ ...refusal(-32601), id: hello.message.id }, 404)
      yield* (yield* server.next).result(discovered)
      assert.strictEqual((yield* Fiber.join(connected)).revision.version, "2026-07-28")
      assert.strictEqual((yield* Http.Servers).size, 0)
    })
  )

  test(
    "is remembered of HTTP with SSE, too, and given up when that fails",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const first = yield* connecting(server)
      yield* (yield* server.next).status(404)
      yield* (yield* server.next).status(404)
      yield* openSse(server)
      yield* Fiber.join(first)
      assert.deepStrictEqual([...(yield* Http.Servers).values()], ["sse"])
      const second = yield* connecting(server)
      yield* openSse(server)
      yield* Fiber.join(second)
      const third = yield* connecting(server)
      yield* (yield* server.next).status(405)
      yield* (yield* server.next).result(discovered)
      assert.strictEqual((yield* Fiber.join(third)).revision.version, "2026-07-28")
    })
  )

  test(
    "is not learned from a server that is out of order, though it is asked in the older way, too",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server)
      yield* (yield* server.next).json({ ...refusal(-32603), id: 1 }, 500)
      yield* agree(server, yield* server.next)
      yield* Fiber.join(connected)
      assert.strictEqual((yield* Http.Servers).size, 0)
    })
  )

  test(
    "is not learned by a client that did not ask for the new era, and of no use to one that speaks nothing else",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const first = yield* connecting(server, { revisions: ["2025-11-25"] })
      yield* agree(server, yield* server.next)
      yield* Fiber.join(first)
      assert.strictEqual((yield* Http.Servers).size, 0)
      ;(yield* Http.Servers).set(server.url, "streamable")
      yield* connecting(server, { revisions: ["2026-07-28"] })
      assert.strictEqual((yield* server.next).message.method, "server/discover")
    })
  )
})
