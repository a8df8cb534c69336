/** Rule 7: when a conversation ends, outstanding requests fail at once instead of waiting for a timeout. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { RequestOptions } from "../../src/peer/Peer.ts"
import { TransportError } from "../../src/transport/Transport.ts"
import { type Served, serve, quiesce } from "../support/wire.ts"

const ask = (served: Served, options?: RequestOptions) =>
  Effect.forkChild(Effect.flip(served.peer.request("ask", undefined, options)), { startImmediately: true })

describe("Outstanding requests of a closed peer", () => {
  it.effect("Outstanding requests fail with Closed when the stream ends, regardless of their timeout", () =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.never)
      const fiber = yield* ask(served, { timeout: "1 hour" })
      served.end()
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Closed")
      assert.strictEqual(served.peer.outstanding(), 0)
    })
  )

  it.effect("Outstanding requests fail with Closed if the stream fails, with its error as the cause", () =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.never)
      const fiber = yield* ask(served)
      const cause = new TransportError({ reason: "Read", message: "reset" })
      served.fail(cause)
      const error = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        [error._tag, error.message, (error as { cause?: unknown }).cause],
        ["Closed", "reset", cause]
      )
    })
  )

  it.effect("Outstanding requests fail with Closed when the scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const served = yield* Scope.provide(
        serve(() => Effect.never),
        scope
      )
      const fiber = yield* ask(served)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Closed")
    })
  )

  it.effect("Outstanding requests fail with Closed while still waiting for room in the outbox", () =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.never)
      served.setWritable(false)
      const fiber = yield* ask(served)
      yield* quiesce
      served.end()
      yield* quiesce
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Closed")
      assert.deepStrictEqual(served.messages(), [])
    })
  )

  it.effect("Outstanding requests fail with Closed even during the remote requests' grace period", () =>
    Effect.gen(function* () {
      const served = yield* serve(({ peer }) => Effect.orDie(Effect.flip(peer.request("ask"))), { grace: "1 hour" })
      served.receive({ jsonrpc: "2.0", id: 1, method: "work" })
      yield* quiesce
      served.end()
      yield* served.peer.awaitClosed
      assert.deepInclude(served.messages().at(-1), { id: 1 })
    })
  )

  it.effect("Requests after the end of the stream fail with Closed and are not sent", () =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.never)
      served.end()
      yield* served.peer.awaitClosed
      assert.strictEqual((yield* Effect.flip(served.peer.request("ask")))._tag, "Closed")
      served.setWritable(false)
      assert.strictEqual((yield* Effect.flip(served.peer.request("ask")))._tag, "Closed")
      assert.deepStrictEqual(served.messages(), [])
    })
  )
})
