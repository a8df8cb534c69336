/** Facts that a client over HTTP remembers about a server for its next connection to the same URL. */
import * as Http from "@effect-mcp/client/Http"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Raw from "./support/raw.ts"
import { agree, connecting, discovered, openSse, refusal, test } from "./support/finding.ts"

describe("Remembered server eras", () => {
  test(
    "A legacy server's era is remembered, and a server at another URL is probed",
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
    "The era is detected again if the remembered one is wrong",
    Effect.gen(function* () {
      const server = yield* Raw.open
      ;(yield* Http.ServerEraCache).set(server.url, "streamable")
      const connected = yield* connecting(server)
      const hello = yield* server.next
      assert.strictEqual(hello.message.method, "initialize")
      yield* hello.json({ ...refusal(-32601), id: hello.message.id }, 404)
      yield* (yield* server.next).result(discovered)
      assert.strictEqual((yield* Fiber.join(connected)).revision.version, "2026-07-28")
      assert.strictEqual((yield* Http.ServerEraCache).size, 0)
    })
  )

  test(
    "The HTTP with SSE transport is also remembered, and forgotten if it fails",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const first = yield* connecting(server)
      yield* (yield* server.next).status(404)
      yield* (yield* server.next).status(404)
      yield* openSse(server)
      yield* Fiber.join(first)
      assert.deepStrictEqual([...(yield* Http.ServerEraCache).values()], ["sse"])
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
    "The era of a failing server is not remembered",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const connected = yield* connecting(server)
      yield* (yield* server.next).json({ ...refusal(-32603), id: 1 }, 500)
      yield* agree(server, yield* server.next)
      yield* Fiber.join(connected)
      assert.strictEqual((yield* Http.ServerEraCache).size, 0)
    })
  )

  test(
    "The era is not remembered by a legacy client and not used by a stateless client",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const first = yield* connecting(server, { revisions: ["2025-11-25"] })
      yield* agree(server, yield* server.next)
      yield* Fiber.join(first)
      assert.strictEqual((yield* Http.ServerEraCache).size, 0)
      ;(yield* Http.ServerEraCache).set(server.url, "streamable")
      yield* connecting(server, { revisions: ["2026-07-28"] })
      assert.strictEqual((yield* server.next).message.method, "server/discover")
    })
  )
})
