/** Handing sessions over when the directory of sessions fails or hangs. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type LeavingEndpoint, type Held, handOver } from "../../src/sessions/handOver.ts"
import { NodeSessions } from "../../src/sessions/NodeSessions.ts"

/** A node with one idle session, whose directory releases sessions with this effect. */
const leaving = Effect.fnUntraced(function* (release: LeavingEndpoint["nodes"]["directory"]["release"]) {
  const node = new NodeSessions()
  const held: Array<Held> = []
  const closed: Array<string> = []
  const session: Held = {
    id: "one",
    isOpening: false,
    sink: { running: 0 },
    session: { peer: { open: () => [] } },
    close: () => Effect.sync(() => void closed.push("one"))
  }
  held.push(session)
  const endpoint: LeavingEndpoint = {
    exchanges: { isSettled: true },
    nodes: { directory: { release } },
    table: { all: () => [...held], take: (one) => held.splice(held.indexOf(one), 1).length > 0 }
  }
  const fiber = yield* Effect.forkChild(handOver(endpoint, node), { startImmediately: true })
  return { node, closed, fiber }
})

describe("Session handover", () => {
  it.effect("A handover ends if the directory fails, and waiting requests continue", () =>
    Effect.gen(function* () {
      const failing = yield* Deferred.make<void, NodesUnavailable>()
      const { closed, fiber, node } = yield* leaving(() => Deferred.await(failing))
      const waiting = node.leaving.get("one")
      assert.isDefined(waiting)
      yield* Deferred.fail(failing, new NodesUnavailable({ message: "The database is gone" }))
      yield* waiting === undefined ? Effect.void : Deferred.await(waiting)
      yield* TestClock.adjust(10)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(closed, ["one"])
      assert.strictEqual(node.leaving.size, 0)
    })
  )

  it.effect("A handover gives up on a stuck directory after 5 seconds", () =>
    Effect.gen(function* () {
      const { closed, fiber, node } = yield* leaving(() => Effect.never)
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      assert.isTrue(node.leaving.has("one"))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(closed, ["one"])
      assert.strictEqual(node.leaving.size, 0)
    })
  )
})
