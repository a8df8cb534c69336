import * as Cluster from "../../src/admin/Cluster.ts"
import { McpServer } from "@effect-mcp/server"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Queue } from "effect"

/** A shared read that waits until the test completes it. */
const start = Effect.gen(function* () {
  const context = yield* Layer.build(McpServer.layer({ name: "test", version: "1", features: Layer.empty }))
  const reads = yield* Queue.unbounded<Deferred.Deferred<void>>()
  let count = 0
  const { snapshot } = yield* Cluster.make(Context.get(context, McpServer.McpServer), () =>
    Effect.gen(function* () {
      const completed = yield* Deferred.make<void>()
      yield* Queue.offer(reads, completed)
      yield* Deferred.await(completed)
      return { status: 200, body: { time: ++count, draining: false, sessions: [], requests: [] } }
    })
  )
  return { reads, time: Effect.map(snapshot, ({ time }) => time) }
})

describe("Shared reads", () => {
  it.effect("Callers that arrive during a read share the next one", () =>
    Effect.gen(function* () {
      const { reads, time } = yield* start
      const first = yield* Effect.forkChild(time)
      const read = yield* Queue.take(reads)
      const others = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(time))
      yield* quiesce
      assert.strictEqual(yield* Queue.size(reads), 0)
      yield* Deferred.succeed(read, undefined)
      assert.strictEqual(yield* Fiber.join(first), 1)
      yield* Deferred.succeed(yield* Queue.take(reads), undefined)
      assert.deepStrictEqual(yield* Effect.forEach(others, Fiber.join), [2, 2, 2])
      assert.strictEqual(yield* Queue.size(reads), 0)
    }).pipe(Effect.scoped)
  )

  it.effect("A read continues after its caller leaves, and later callers get their own", () =>
    Effect.gen(function* () {
      const { reads, time } = yield* start
      const first = yield* Effect.forkChild(time)
      const read = yield* Queue.take(reads)
      const second = yield* Effect.forkChild(time)
      yield* quiesce
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(read, undefined)
      yield* Deferred.succeed(yield* Queue.take(reads), undefined)
      assert.strictEqual(yield* Fiber.join(second), 2)
      const third = yield* Effect.forkChild(time)
      yield* Deferred.succeed(yield* Queue.take(reads), undefined)
      assert.strictEqual(yield* Fiber.join(third), 3)
    }).pipe(Effect.scoped)
  )
})
