/** What a client over HTTP keeps of a server that it found out, for its next connection to the same URL. */
import * as Http from "@effect-mcp/client/Http"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Raw from "./support/raw.ts"
import { agree, connecting, discovered, openSse, refusal, test } from "./support/finding.ts"

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
    "is remembered of HTTP with SSE, too, and given up when that fails",
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
    "is not learned from a server that is out of order, though it is asked in the older way, too",
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
    "is not learned by a client that did not ask for the new era, and of no use to one that speaks nothing else",
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
