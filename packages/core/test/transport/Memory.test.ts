/** Two ends of one in-memory wire. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Memory from "../../src/transport/Memory.ts"
import { quiesce } from "../support/wire.ts"

describe("In-memory pair", () => {
  it.effect.prop(
    "An in-memory pair carries every message once, in order, as its JSON",
    {
      values: Arbitrary.array(Arbitrary.schema(Schema.Json), { maxLength: 20 }),
      highWater: Schema.Literals([1, 50, 10_000])
    },
    ({ values, highWater }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [client, server] = yield* Memory.pair({ highWater, capacity: 1 })
          for (const [id, value] of values.entries()) client.sink.send(JsonRpc.request(id, "m", { value }), "data")
          const read = yield* Stream.runCollect(Stream.take(server.incoming, values.length))
          assert.deepStrictEqual(
            Array.from(read, (inbound) => (inbound._tag === "Message" ? { ...inbound.message } : inbound)),
            values.map((value, id) => ({
              jsonrpc: "2.0" as const,
              id,
              method: "m",
              params: { value: JSON.parse(JSON.stringify(value)) }
            }))
          )
        })
      ),
    { ...verifies("transport.custom.preserves-protocol"), arbitrary: { runs: 60 } }
  )

  it.effect("Closing an in-memory pair's scope ends both incoming streams", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [client, server] = yield* Scope.provide(Memory.pair(), scope)
      const readers = yield* Effect.forEach([client, server], ({ incoming }) =>
        Effect.forkChild(Stream.runDrain(incoming))
      )
      yield* quiesce
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.joinAll(readers)
    })
  )

  it.effect("A message sent right before an in-memory pair closes still arrives", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [client, server] = yield* Scope.provide(Memory.pair(), scope)
      const reader = yield* Effect.forkChild(Stream.runCollect(client.incoming), { startImmediately: true })
      server.sink.send(JsonRpc.notification("last"), "control")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(reader)).length, 1)
    })
  )

  it.effect("Closing an in-memory pair does not wait for unread control messages", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [client, server] = yield* Scope.provide(Memory.pair({ capacity: 1 }), scope)
      for (const { sink } of [client, server]) {
        sink.send(JsonRpc.notification("n", { text: "x".repeat(100_000) }), "control")
        sink.send(JsonRpc.notification("n", { text: "x".repeat(100_000) }), "control")
      }
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.effect("Closing an in-memory pair does not wait for an end that never reads", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [client, server] = yield* Scope.provide(Memory.pair({ highWater: 1, capacity: 1 }), scope)
      for (const { sink } of [client, server]) {
        for (let n = 0; n < 100; n++) sink.send(JsonRpc.notification("n", { n }), "data")
      }
      yield* quiesce
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.effect("The server end of an in-memory pair uses the envelope from its options", () =>
    Effect.gen(function* () {
      const [client, server] = yield* Memory.pair({ envelope: { headers: { a: "b" } } })
      client.sink.send(JsonRpc.notification("n"), "data")
      const [inbound] = Array.from(yield* Stream.runCollect(Stream.take(server.incoming, 1)))
      assert.deepInclude(inbound, { envelope: { headers: { a: "b" } } })
    })
  )
})
