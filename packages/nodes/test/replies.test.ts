/** Replies that nodes share, where their store fails in between. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Directory } from "../src/directory/Directory.ts"
import { type FirstUse, makeSharedReplies } from "../src/directory/SharedReplies.ts"
import { Network } from "../src/memory/Network.ts"

const times = { lease: 1200, grace: 300, kept: 600_000 }

/** A guard whose store fails so often to keep a reply. */
const guardThatFails = Effect.fnUntraced(function* (failures: number) {
  const kept = new Map<string, FirstUse>()
  let left = failures
  const directory = yield* Directory.make({
    store: new Network().store(times),
    times,
    address: "a",
    relay: { named: () => {}, asked: () => [], cut: () => {} }
  })
  return makeSharedReplies(
    {
      begin: (jti, node) =>
        Effect.sync(() => {
          const first = kept.get(jti)
          if (first === undefined) kept.set(jti, { node, reply: undefined })
          return first
        }),
      end: (jti, reply) =>
        Effect.suspend(() =>
          left-- > 0
            ? Effect.fail(new NodesUnavailable({ message: "away for a moment" }))
            : Effect.sync(() => void kept.set(jti, { node: "", reply }))
        ),
      drop: (jti) => Effect.sync(() => void kept.delete(jti))
    },
    directory
  )
})

const again = Effect.die("The handler runs twice")

describe("The reply to a state", () => {
  it.effect("is kept for later uses though the store did not answer once", () =>
    Effect.gen(function* () {
      const guard = yield* guardThatFails(1)
      const first = yield* Effect.forkChild(guard.once("j", 60_000, Effect.succeed({ n: 1 })))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(first), { n: 1 })
      assert.deepStrictEqual(yield* guard.once("j", 60_000, again), { n: 1 })
    })
  )

  it.effect("is waited for until the state expires, where it could not be kept", () =>
    Effect.gen(function* () {
      const guard = yield* guardThatFails(Infinity)
      const first = yield* Effect.forkChild(guard.once("j", 60_000, Effect.succeed({ n: 1 })))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(first), { n: 1 })
      const later = yield* Effect.forkChild(Effect.flip(guard.once("j", 60_000, again)))
      yield* TestClock.adjust("58 seconds")
      assert.isUndefined(later.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(later)).code, -31503)
    })
  )
})
