/** How a client detects the era and transport of a server behind a URL, and how it remembers them. */
import * as Http from "@effect-mcp/client/Http"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Raw from "./support/raw.ts"
import { agree, connecting, discovered, openSse, refusal, test } from "./support/finding.ts"

describe("Server detection by URL", () => {
  test(
    "A server that answers server/discover is stateless",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server)
      const probe = yield* server.next
      assert.strictEqual(probe.headers["mcp-method"], "server/discover")
      yield* probe.result(discovered)
      assert.strictEqual((yield* Fiber.join(connected)).revision.version, "2026-07-28")
      assert.strictEqual((yield* Http.ServerEraCache).size, 0)
    })
  )

  for (const [what, answer] of [
    ["400 without a body", (hit: Raw.Hit) => hit.status(400)],
    ["400 with an error from outside the stateless era", (hit: Raw.Hit) => hit.json(refusal(-32000), 400)],
    ["404", (hit: Raw.Hit) => hit.status(404, "<html>")],
    ["405", (hit: Raw.Hit) => hit.status(405)],
    ["406", (hit: Raw.Hit) => hit.status(406)],
    ["another error code with status 200", (hit: Raw.Hit) => hit.json({ ...refusal(-32601), id: 1 })]
  ] as const) {
    test(
      `A server is legacy if it answers ${what}`,
      Effect.gen(function* () {
        const server = yield* Raw.open
        const connected = yield* connecting(server)
        yield* answer(yield* server.next)
        yield* agree(server, yield* server.next)
        assert.strictEqual((yield* Fiber.join(connected)).revision.version, "2025-11-25")
      }),
      verifies("http.compatibility.inspects-400")
    )
  }

  test(
    "A stateless-era rejection does not mark a server as legacy",
    Effect.gen(function* () {
      const server = yield* Raw.open
      for (const code of [-32020, -32021]) {
        const connected = yield* connecting(server)
        yield* (yield* server.next).json({ ...refusal(code), id: 1 }, 400)
        assert.deepInclude(yield* Effect.flip(Fiber.join(connected)), { _tag: "McpError", code })
      }
      const connected = yield* connecting(server)
      yield* (yield* server.next).json(refusal(-32022, { supported: ["2025-06-18"], requested: "2026-07-28" }), 400)
      yield* agree(server, yield* server.next)
      yield* Fiber.join(connected)
    }),
    verifies("http.compatibility.inspects-400")
  )

  test(
    "A server that requires credentials, is busy or fails is not probed further",
    Effect.gen(function* () {
      const server = yield* Raw.open
      for (const status of [401, 403, 408, 425, 429, 500, 503]) {
        const connected = yield* connecting(server)
        const body = status === 429 ? JSON.stringify({ ...refusal(-32000), reason: "Bad luck" }) : "Bad luck"
        yield* (yield* server.next).status(status, body)
        const error = yield* Effect.flip(Fiber.join(connected))
        const denied = { 401: "Unauthorized", 403: "Forbidden" }[status]
        if (denied === undefined) assert.deepInclude((error as { cause?: object }).cause, { reason: "Status", status })
        else assert.propertyVal(error, "_tag", denied)
        assert.include(error.message, "Bad luck")
      }
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "A server that is not listening is not tried twice",
    Effect.gen(function* () {
      const server = yield* Effect.scoped(Raw.open)
      const error = yield* Effect.flip(Fiber.join(yield* connecting(server)))
      assert.deepInclude((error as { cause?: object }).cause, { reason: "Open" })
    })
  )

  for (const status of [400, 404, 405]) {
    test(
      `A server falls back to HTTP with SSE if it answers initialize with ${status}`,
      Effect.gen(function* () {
        const server = yield* Raw.open
        const connected = yield* connecting(server, { headers: { authorization: "Bearer t" } })
        yield* (yield* server.next).status(status)
        const hello = yield* server.next
        assert.strictEqual(hello.message.method, "initialize")
        yield* hello.status(status)
        const get = yield* openSse(server)
        assert.strictEqual(get.headers.authorization, "Bearer t")
        const client = yield* Fiber.join(connected)
        assert.strictEqual(client.revision.version, "2024-11-05")
        const pinged = yield* Effect.forkChild(client.ping, { startImmediately: true })
        const ping = yield* server.next
        assert.strictEqual(ping.path, "/messages?id=1")
        yield* ping.status(202)
        yield* get.event({ data: { jsonrpc: "2.0", id: ping.message.id, result: {} } })
        yield* Fiber.join(pinged)
      }),
      verifies("http.compatibility.client-falls-back", "http.compatibility.falls-back-to-sse")
    )
  }

  test(
    "A server that supports neither transport fails with its answer to initialize",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server)
      yield* (yield* server.next).status(404)
      yield* (yield* server.next).status(404, "Nothing here")
      yield* (yield* server.take("GET")).status(404)
      const error = yield* Effect.flip(Fiber.join(connected))
      assert.include(error.message, "Nothing here")
    })
  )

  test(
    "A stateless rejection of initialize, or the options, prevent HTTP with SSE",
    Effect.gen(function* () {
      const server = yield* Raw.open
      for (const [status, code] of [
        [404, -32601],
        [400, -32022]
      ] as const) {
        const connected = yield* connecting(server, { revisions: ["2025-11-25"] })
        yield* (yield* server.next).json({ ...refusal(code), id: 1 }, status)
        assert.deepInclude(yield* Effect.flip(Fiber.join(connected)), { _tag: "McpError", code })
      }
      const connected = yield* connecting(server, { revisions: ["2025-11-25"], transport: "streamable" })
      yield* (yield* server.next).status(405)
      assert.include((yield* Effect.flip(Fiber.join(connected))).message, "405")
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "Only HTTP with SSE is tried if the options require it",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server, { revisions: ["2024-11-05"], transport: "sse" })
      yield* openSse(server)
      yield* Fiber.join(connected)
    })
  )
})

describe("2026-07-28 servers", () => {
  test(
    "A stateless server that sends a request gets no answer",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const dropped: Array<string> = []
      const connected = yield* connecting(server, { dropped: (reason) => void dropped.push(reason) })
      yield* (yield* server.next).result({ ...discovered, capabilities: { tools: {} } })
      const client = yield* Fiber.join(connected)
      const asked = yield* Effect.forkChild(client.request("tools/list", {}), { startImmediately: true })
      const post = yield* server.next
      yield* post.stream()
      for (const method of ["ping", "roots/list", "no/such"]) {
        yield* post.event({ data: { jsonrpc: "2.0", id: method, method } })
      }
      const result = { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" }
      yield* post.event({ data: { jsonrpc: "2.0", id: post.message.id, result } })
      yield* Fiber.join(asked)
      assert.lengthOf(dropped, 3)
      // Any answer to it would have arrived before this request.
      yield* Effect.forkChild(client.request("tools/list", {}), { startImmediately: true })
      assert.strictEqual((yield* server.next).message.method, "tools/list")
    }),
    verifies("http.post.no-responses")
  )
})
