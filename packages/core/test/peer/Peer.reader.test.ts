/**
 * Rule 1 of supervision: the reader always pulls; it never writes and never waits for a handler, a permit or a full outbox.
 */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../src/transport/Memory.ts"
import * as Peer from "../../src/peer/Peer.ts"
import { request, serve, quiesce, success } from "../support/wire.ts"

describe("Peer reader", () => {
  it.effect(
    "The reader answers a ping while every permit is taken",
    () =>
      Effect.gen(function* () {
        const { push, take } = yield* serve(() => Effect.never, { inFlight: 1, pending: 1 })
        push(request(1))
        push(request(2))
        push(request(3, "ping"))
        assert.deepStrictEqual(yield* take, success(3))
      }),
    verifies("ping.receiver.empty-response")
  )

  it.effect("The reader accepts answers while handlers waiting for them hold every permit", () =>
    Effect.gen(function* () {
      const wire = yield* serve(({ peer }) => Effect.orDie(peer.request("ask")), { inFlight: 2 })
      for (const id of [1, 2, 3, 4]) wire.push(request(id))
      const asks = [yield* wire.take, yield* wire.take]
      for (const ask of asks) wire.push(success(ask.id, { to: ask.id }))
      yield* quiesce
      for (const ask of wire.messages().filter((message) => message.method === "ask")) {
        wire.push(success(ask.id, { to: ask.id }))
      }
      yield* quiesce
      const answers = wire.messages().filter((message) => "result" in message)
      assert.deepStrictEqual(
        answers.map((message) => message.id),
        [1, 2, 3, 4]
      )
    })
  )

  it.effect("The reader does not wait for a handler that never suspends", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { push, take } = yield* serve(({ request: { method } }) =>
        method === "slow" ? Effect.uninterruptible(latch.await) : Effect.succeed({})
      )
      push(request(1, "slow"))
      push(request(2, "fast"))
      assert.strictEqual((yield* take).id, 2)
      latch.openUnsafe()
    })
  )

  it.effect("The reader keeps pulling while its own outbox is full", () =>
    Effect.gen(function* () {
      const wire = yield* serve(({ peer }) => Effect.orDie(peer.request("ask")))
      wire.setWritable(false)
      wire.push(request(1))
      wire.push(request(2, "ping"))
      assert.deepStrictEqual(yield* wire.take, success(2))
      // The handler's question is sent once there is room, and its answer is still read.
      wire.setWritable(true)
      const ask = yield* wire.take
      wire.push(success(ask.id))
      assert.strictEqual((yield* wire.take).id, 1)
    })
  )

  it.effect("A request times out unsent if the other peer stops reading", () =>
    Effect.gen(function* () {
      const wire = yield* serve(() => Effect.never)
      wire.setWritable(false)
      const fiber = yield* Effect.forkChild(wire.peer.request("ask", {}, { timeout: "1 millis" }))
      yield* quiesce
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "Timeout")
      assert.deepStrictEqual(wire.messages(), [])
      assert.strictEqual(wire.peer.outstanding(), 0)
    })
  )
})

/** Both sides ask each other from within handlers, over tiny outboxes. */
const crossfire = (options: {
  readonly highWater: number
  readonly capacity: number
  readonly inFlight: number
  readonly depth: number
  readonly calls: number
}) =>
  Effect.gen(function* () {
    const [left, right] = yield* Memory.pair({ highWater: options.highWater, capacity: options.capacity })
    const handle = ({ peer, request: { params } }: Peer.Exchange) =>
      Effect.suspend(() => {
        const depth = Number(params?.depth)
        return depth === 0
          ? Effect.succeed({ padding: "x".repeat(64) })
          : Effect.orDie(peer.request("work", { depth: depth - 1, padding: "x".repeat(64) }))
      })
    const handlers: Peer.Handlers = { request: handle, notification: () => {} }
    const limits = { inFlight: options.inFlight, pending: 10_000 }
    const a = yield* Peer.make(left, handlers, limits)
    const b = yield* Peer.make(right, handlers, limits)
    const calls = (peer: Peer.Peer) =>
      Effect.all(
        Array.from({ length: options.calls }, () => peer.request("work", { depth: options.depth })),
        { concurrency: "unbounded", discard: true }
      )
    yield* Effect.all([calls(a), calls(b)], { concurrency: 2 })
    yield* quiesce
    assert.deepStrictEqual([a.outstanding(), b.outstanding()], [0, 0])
    assert.deepStrictEqual([yield* a.inFlight, yield* b.inFlight], [[], []])
  })

describe("Two peers calling each other", () => {
  it.effect("Two peers do not deadlock over one-byte outboxes", () =>
    crossfire({ highWater: 1, capacity: 1, inFlight: 64, depth: 3, calls: 20 })
  )
  it.effect("Two peers do not deadlock if all of their calls wait for one permit", () =>
    crossfire({ highWater: 1, capacity: 1, inFlight: 1, depth: 0, calls: 200 })
  )
  it.effect("Two peers do not deadlock if many calls share small budgets", () =>
    crossfire({ highWater: 200, capacity: 1, inFlight: 300, depth: 5, calls: 50 })
  )

  it.effect("Two peers keep answering while both outboxes are over their high-water mark", () =>
    Effect.gen(function* () {
      const [left, right] = yield* Memory.pair({ highWater: 1, capacity: 1 })
      const both = yield* Deferred.make<void>()
      let started = 0
      const handlers: Peer.Handlers = {
        request: ({ peer, sink }) =>
          Effect.suspend(() => {
            if (++started === 2) Deferred.doneUnsafe(both, Exit.void)
            for (let n = 0; n < 50; n++) peer.notify("noise", { n })
            assert.strictEqual(sink.writable(), false)
            return Effect.as(Deferred.await(both), { ok: true })
          }),
        notification: () => {}
      }
      const a = yield* Peer.make(left, handlers)
      const b = yield* Peer.make(right, handlers)
      const results = yield* Effect.all([a.request("work"), b.request("work")], { concurrency: 2 })
      assert.deepStrictEqual(results, [{ ok: true }, { ok: true }])
    })
  )
})
