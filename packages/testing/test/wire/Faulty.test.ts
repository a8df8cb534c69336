/** Faulty wires, and the guarantees that still hold. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import type { Inbound } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Faulty from "../../src/wire/Faulty.ts"

const count = 200
const numbers = (inbound: Iterable<Inbound>) =>
  Array.from(inbound, (each) =>
    each._tag === "Message" && "method" in each.message ? each.message.params?.n : each._tag
  )

/** Returns which of `count` numbered messages arrive before the wire ends or breaks. */
const arrivals = (faults: Faulty.Faults) =>
  Effect.scoped(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [client, server] = yield* Scope.provide(Memory.pair(), scope)
      const arrived: Array<Inbound> = []
      const reading = yield* Effect.forkChild(
        Effect.exit(
          Stream.runForEach(Faulty.transport(server, faults).incoming, (inbound) =>
            Effect.sync(() => void arrived.push(inbound))
          )
        ),
        { startImmediately: true }
      )
      for (let n = 0; n < count; n++) client.sink.send(JsonRpc.notification("n", { n }), "data")
      yield* quiesce
      yield* TestClock.adjust("1 hour")
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.join(reading)
      return { numbers: numbers(arrived), broken: Exit.isFailure(exit) }
    })
  )

const all = Array.from({ length: count }, (_, n) => n)

describe("Faulty connections", () => {
  it.effect("Without faults, a connection behaves like the underlying one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* arrivals({ seed: 1 }), { numbers: all, broken: false })
    })
  )

  it.effect("Drops, duplicates and delays depend only on the seed and keep the order", () =>
    Effect.gen(function* () {
      const faults = { seed: 7, drop: 0.2, duplicate: 0.2, delay: 0.2 }
      const { numbers } = yield* arrivals(faults)
      const distinct = new Set(numbers)
      assert.isBelow(distinct.size, count)
      assert.isAbove(numbers.length, distinct.size)
      assert.deepStrictEqual(
        numbers,
        numbers.toSorted((a, b) => Number(a) - Number(b))
      )
      assert.deepStrictEqual((yield* arrivals(faults)).numbers, numbers)
      assert.notDeepEqual((yield* arrivals({ ...faults, seed: 8 })).numbers, numbers)
    })
  )

  it.effect("Delays use the Clock", () =>
    Effect.gen(function* () {
      const [client, server] = yield* Memory.pair()
      const late = Faulty.transport(server, { seed: 1, delay: 1, maxDelay: "10 seconds" })
      const reading = yield* Effect.forkChild(Stream.runCollect(Stream.take(late.incoming, 1)), {
        startImmediately: true
      })
      client.sink.send(JsonRpc.notification("n", { n: 0 }), "data")
      yield* quiesce
      assert.isUndefined(reading.pollUnsafe())
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(numbers(yield* Fiber.join(reading)), [0])
    })
  )

  it.effect("Cutting a connection breaks it", () =>
    Effect.gen(function* () {
      const { numbers, broken } = yield* arrivals({ seed: 3, cut: 0.05 })
      assert.isTrue(broken)
      assert.deepStrictEqual(numbers, all.slice(0, numbers.length))
      assert.isBelow(numbers.length, count)
    })
  )

  it.effect.prop(
    "Every call ends and no handler keeps running",
    { seed: Schema.Int, kind: Schema.Literals(["drop", "duplicate", "delay", "cut", "all"]) },
    ({ kind, seed }) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const likely = (fault: string) => (kind === fault || kind === "all" ? 0.2 : 0)
        const [left, right] = yield* Scope.provide(
          Faulty.pair({
            seed,
            drop: likely("drop"),
            duplicate: likely("duplicate"),
            delay: likely("delay"),
            cut: likely("cut") / 4
          }),
          scope
        )
        let running = 0
        const handlers: Peer.Handlers = {
          request: () =>
            Effect.suspend(() => {
              running++
              return Effect.ensuring(
                Effect.as(Effect.sleep("10 millis"), {}),
                Effect.sync(() => running--)
              )
            }),
          notification: () => {}
        }
        const a = yield* Scope.provide(Peer.make(left, handlers), scope)
        const b = yield* Scope.provide(Peer.make(right, handlers), scope)
        const calls = yield* Effect.forEach([a, b, a, b, a, b, a, b], (peer) =>
          Effect.forkChild(Effect.exit(peer.request("m", {}, { timeout: "30 seconds" })), { startImmediately: true })
        )
        yield* TestClock.adjust("1 minute")
        for (const call of calls) {
          const exit = yield* Fiber.join(call)
          // A cut in one direction still lets the other side announce that it is closing.
          if (Exit.isFailure(exit)) assert.include(["Closed", "Timeout", "McpError"], (yield* Effect.flip(exit))._tag)
        }
        assert.deepStrictEqual([a.outstanding(), b.outstanding(), running], [0, 0, 0])
        yield* Scope.close(scope, Exit.void)
      }),
    { arbitrary: { runs: 60 } }
  )
})

describe("Split bytes", () => {
  it.effect.prop(
    "Splitting keeps the bytes, in pieces up to the given size",
    { seed: Schema.Int, text: Schema.String, maxBytes: Schema.Literals([1, 3, 100]) },
    ({ maxBytes, seed, text }) =>
      Effect.gen(function* () {
        const bytes = new TextEncoder().encode(text)
        const pieces = yield* Stream.runCollect(Faulty.split({ seed, maxBytes })(Stream.make(bytes, bytes)))
        for (const piece of pieces) assert.isAtMost(piece.length, maxBytes)
        assert.deepStrictEqual(
          Array.from(pieces).flatMap((piece) => [...piece]),
          [...bytes, ...bytes]
        )
      })
  )
})
