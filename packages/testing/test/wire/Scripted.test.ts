/** A wire whose other end is the test. */
import * as Peer from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Scripted from "../../src/wire/Scripted.ts"

const serve = Effect.gen(function* () {
  const wire = yield* Scripted.make
  const peer = yield* Peer.make(wire.transport, {
    request: ({ request: { params } }) => Effect.succeed({ got: params?.x }),
    notification: () => {}
  })
  return { ...wire, peer }
})

describe("Scripted transports", () => {
  it.effect("A scripted transport delivers pushed text, JSON or not, and returns what was sent", () =>
    Effect.gen(function* () {
      const { push, take, sent } = yield* serve
      yield* push({ jsonrpc: "2.0", id: 1, method: "m", params: { x: [1] } })
      assert.deepStrictEqual(yield* take, { jsonrpc: "2.0", id: 1, result: { got: [1] } })
      yield* push("{nonsense")
      assert.deepInclude(yield* take, { error: { code: -32700, message: "Parse error: not valid JSON" } })
      assert.deepStrictEqual(
        (yield* sent).map(({ lane }) => lane),
        ["control", "control"]
      )
    })
  )

  it.effect("A scripted transport answers the peer's own requests as configured", () =>
    Effect.gen(function* () {
      const { peer, push, take } = yield* serve
      const asking = yield* Effect.forkChild(peer.request("ask", { q: 1 }))
      const asked = yield* take
      assert.deepInclude(asked, { method: "ask", params: { q: 1 } })
      yield* push({ jsonrpc: "2.0", id: (asked as { id: number }).id, result: "yes" })
      assert.strictEqual(yield* Fiber.join(asking), "yes")
    })
  )

  it.effect("A scripted transport blocks data senders while the other side does not read", () =>
    Effect.gen(function* () {
      const { peer, sent, setWritable, take } = yield* serve
      yield* setWritable(false)
      yield* Effect.forkChild(peer.request("ask"), { startImmediately: true })
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* sent, [])
      yield* setWritable(true)
      assert.deepInclude(yield* take, { method: "ask" })
    })
  )

  it.effect("A scripted transport closes its peer's connection cleanly", () =>
    Effect.gen(function* () {
      const { end, peer } = yield* serve
      yield* end
      yield* peer.awaitClosed
    })
  )

  it.effect("A scripted transport breaks its peer's connection with the test's error", () =>
    Effect.gen(function* () {
      const { fail, peer } = yield* serve
      yield* fail(new TransportError({ reason: "Read", message: "reset" }))
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).message, "reset")
    })
  )
})
