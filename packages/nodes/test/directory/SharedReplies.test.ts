/** Shared replies with a store that fails in between. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Directory } from "../../src/directory/Directory.ts"
import { makeSharedReplies, type ReplyStore } from "../../src/directory/SharedReplies.ts"
import { repliesOf } from "../../src/memory/layer.ts"
import { Network } from "../../src/memory/Network.ts"

const times = { lease: 1200, grace: 300, kept: 600_000 }

/** A guard whose store fails this many times to keep a reply. */
const guardThatFails = Effect.fnUntraced(function* (failures: number, steps: Partial<ReplyStore> = {}) {
  const store = repliesOf(new Network())
  let left = failures
  const directory = yield* Directory.make({
    store: new Network().store(times),
    times,
    address: "a",
    relay: { named: () => {}, asked: () => [], cut: () => {}, hasLeft: () => false, leave: Effect.void }
  })
  const away = Effect.fail(new NodesUnavailable({ message: "away for a moment" }))
  return makeSharedReplies(
    { ...store, end: (jti, reply) => Effect.suspend(() => (left-- > 0 ? away : store.end(jti, reply))), ...steps },
    directory
  )
})

const again = Effect.die("The handler runs twice")

describe("Replies to a state", () => {
  it.effect("A state whose use cannot be recorded fails with -31503 before its handler runs", () =>
    Effect.gen(function* () {
      const away = Effect.fail(new NodesUnavailable({ message: "away" }))
      const guard = yield* guardThatFails(0, { begin: () => away })
      const ran = Effect.die("The handler runs")
      assert.strictEqual((yield* Effect.flip(guard.once("j", 60_000, ran))).code, -31503)
    })
  )

  it.effect("A state's reply is kept for later uses even if the store fails once", () =>
    Effect.gen(function* () {
      const guard = yield* guardThatFails(1)
      const first = yield* Effect.forkChild(guard.once("j", 60_000, Effect.succeed({ n: 1 })))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(first), { n: 1 })
      assert.deepStrictEqual(yield* guard.once("j", 60_000, again), { n: 1 })
    })
  )

  it.effect("Later uses of a state wait until it expires if its reply could not be kept", () =>
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
