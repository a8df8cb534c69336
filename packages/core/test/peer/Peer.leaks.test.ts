/** A conversation that has ended leaves no fiber, no caller and no timer. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Memory from "../../src/transport/Memory.ts"
import * as Peer from "../../src/peer/Peer.ts"

const timers = () =>
  process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "Immediate").length

describe("Closed connections", () => {
  // Live, because timeouts are real timers here and must be gone.
  it.live("Closing a thousand busy connections leaks no handler, caller or timer", () =>
    Effect.gen(function* () {
      let open = 0
      const counted = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          open++
          return Effect.ensuring(
            effect,
            Effect.sync(() => open--)
          )
        })
      const handlers: Peer.Handlers = {
        request: ({ peer, request: { method } }) =>
          counted(
            method === "never"
              ? Effect.never
              : Effect.orDie(Effect.ignore(peer.request("never", {}, { timeout: "1 hour", onProgress: () => {} })))
          ),
        notification: () => {}
      }
      const options: Peer.Options = { inFlight: 2, grace: "1 hour" }
      const conversation = Effect.gen(function* () {
        const scope = yield* Scope.make()
        const [left, right] = yield* Scope.provide(Memory.pair({ highWater: 100, capacity: 1 }), scope)
        const a = yield* Scope.provide(Peer.make(left, handlers, options), scope)
        const b = yield* Scope.provide(Peer.make(right, handlers, options), scope)
        const calls = yield* Effect.forEach([a, b, a, b, a, b], (peer, index) =>
          Effect.forkChild(counted(Effect.exit(peer.request(index < 4 ? "ask" : "never", {}, { timeout: "1 hour" }))), {
            startImmediately: true
          })
        )
        yield* quiesce
        assert.isAbove(open, 6)
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.awaitAll(calls)
        assert.deepStrictEqual([a.outstanding(), b.outstanding()], [0, 0])
      })
      const before = timers()
      for (let n = 0; n < 1000; n++) yield* conversation
      assert.strictEqual(open, 0)
      assert.isAtMost(timers(), before)
    })
  )
})
