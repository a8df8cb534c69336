/** Which era and which transport a server behind a URL speaks, as a client finds out; and what it remembers of that. */
import * as Http from "@effect-mcp/client/Http"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Raw from "./support/raw.ts"
import { agree, connecting, discovered, openSse, refusal, test } from "./support/finding.ts"

describe("A server behind a URL", () => {
  test(
    "A server is of the stateless era when it answers server/discover",
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
    ["400 with an error that is not of the stateless era", (hit: Raw.Hit) => hit.json(refusal(-32000), 400)],
    ["404", (hit: Raw.Hit) => hit.status(404, "<html>")],
    ["405", (hit: Raw.Hit) => hit.status(405)],
    ["406", (hit: Raw.Hit) => hit.status(406)],
    ["an error of another code with status 200", (hit: Raw.Hit) => hit.json({ ...refusal(-32601), id: 1 })]
  ] as const) {
    test(
      `A server is of the older era when it answers ${what}`,
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
    "A server is not taken for older by a refusal of the stateless era",
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
    "A server that wants credentials, is busy or fails is not probed in another way",
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
    "A server that does not listen is not looked for twice",
    Effect.gen(function* () {
      const server = yield* Effect.scoped(Raw.open)
      const error = yield* Effect.flip(Fiber.join(yield* connecting(server)))
      assert.deepInclude((error as { cause?: object }).cause, { reason: "Open" })
    })
  )

  for (const status of [400, 404, 405]) {
    test(
      `A server speaks HTTP with SSE when it answers initialize by ${status}`,
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
    "A server that speaks neither transport fails with its answer to initialize",
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
    "A server that refuses initialize in the stateless way is not asked for HTTP with SSE, nor against the options",
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
    "A server is asked for HTTP with SSE alone where the options say so",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server, { revisions: ["2024-11-05"], transport: "sse" })
      yield* openSse(server)
      yield* Fiber.join(connected)
    })
  )
})

describe("A server of 2026-07-28", () => {
  test(
    "A stateless server that asks all the same is not answered",
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
      // Whatever it had answered would have come before this.
      yield* Effect.forkChild(client.request("tools/list", {}), { startImmediately: true })
      assert.strictEqual((yield* server.next).message.method, "tools/list")
    }),
    verifies("http.post.no-responses")
  )
})
