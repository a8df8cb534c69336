/** Rate limits shared by several nodes, and the calls they admit together. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { makeMemory, RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { BucketSync } from "../../src/features/BucketSync.ts"
import { connect, everyVersion, serve } from "../support/raw.ts"

const features = Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed(""))
const ann = { principal: { subject: "ann", scopes: [], claims: { iss: "https://a.example" } } }

/** Clients of one caller, each connected to another node. */
const nodes = (count: number, version: string, perSecond: number, store: RateLimitStore["Service"] | undefined) =>
  Effect.forEach(Array.from({ length: count }), () => {
    const served = serve({ features, rateLimit: { "tools/call": perSecond } })
    const server = store === undefined ? served : Effect.provideService(served, RateLimitStore, store)
    return Effect.flatMap(server, (server) => connect(server, { version, ...ann }))
  })

type Client = Effect.Success<ReturnType<typeof nodes>>[number]

/** Number of admitted calls out of `calls`. */
const admitted = Effect.fnUntraced(function* (client: Client, calls: number) {
  let count = 0
  for (let call = 0; call < calls; call++) {
    const exit = yield* Effect.exit(client.call("a"))
    if (exit._tag === "Success") count++
  }
  yield* quiesce
  return count
})

describe("Rate limits shared between nodes", () => {
  for (const version of everyVersion()) {
    it.effect(`Nodes sharing rate limits admit one budget plus one call per extra node (${version})`, () =>
      Effect.gen(function* () {
        const [a, b, c] = yield* nodes(3, version, 20, makeMemory())
        assert.strictEqual(yield* admitted(a!, 100), 40)
        yield* TestClock.adjust("20 millis")
        // The first call at each node reports the calls that the others have used.
        for (const client of [b!, c!]) {
          assert.strictEqual(yield* admitted(client, 1), 1)
          yield* TestClock.adjust("20 millis")
          assert.strictEqual(yield* admitted(client, 100), 0)
        }
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* admitted(c!, 100), 40)
      })
    )
  }

  it.effect.prop(
    "Nodes sharing rate limits admit one budget per second in total",
    { turns: Schema.Array(Schema.Literals([0, 1, 2])).check(Schema.isMinLength(50), Schema.isMaxLength(80)) },
    ({ turns }) =>
      Effect.gen(function* () {
        const clients = yield* nodes(3, "2025-11-25", 20, makeMemory())
        let count = 0
        // 20 calls in each 20 ms: fifty times the allowed rate.
        for (const turn of turns) {
          count += yield* admitted(clients[turn]!, 20)
          yield* TestClock.adjust("20 millis")
        }
        const allowed = 40 + (20 * turns.length * 20) / 1000
        // Each node admits 20 calls before it hears from the others; later calls pay for them.
        assert.isAtMost(count, allowed + 2 * 20)
        yield* TestClock.adjust("10 seconds")
        assert.isAtMost(yield* admitted(clients[0]!, 100), 40)
      }),
    { arbitrary: { runs: 10 } }
  )

  it.effect("Nodes fall back to local counts during a store outage and settle later", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      let isAway = true
      let told = 0
      const away = new NodesUnavailable({ message: "The store is away" })
      const [a, b] = yield* nodes(2, "2025-11-25", 20, {
        settle: (uses) => {
          if (isAway) return Effect.fail(away)
          for (const { used } of uses) told += used
          return store.settle(uses)
        }
      })
      assert.strictEqual(yield* admitted(a!, 100), 40)
      assert.strictEqual(yield* admitted(b!, 100), 40)
      isAway = false
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(told, 80)
      // The bucket has owed 40 for a second, of which 20 have been refilled. The first node to report learns that with its next call.
      assert.isAtMost(yield* admitted(a!, 100), 1)
    })
  )

  it.effect("Nodes keep admitting a caller within its budget after a store outage", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      let isAway = true
      const away = new NodesUnavailable({ message: "The store is away" })
      const settle: (typeof store)["settle"] = (uses) => (isAway ? Effect.fail(away) : store.settle(uses))
      const [client] = yield* nodes(1, "2025-11-25", 20, { settle })
      for (let second = 0; second < 60; second++) {
        assert.strictEqual(yield* admitted(client!, 16), 16)
        yield* TestClock.adjust("1 second")
      }
      isAway = false
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* admitted(client!, 16), 16)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* admitted(client!, 16), 16)
    })
  )

  it.effect("Nodes keep a bucket until its usage is settled", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const settling = yield* BucketSync.make({ settle: () => Effect.never }, "server", () =>
        clock.currentTimeMillisUnsafe()
      )
      const bucket = settling.bucket("tools/call", false, "ann", 20, clock.currentTimeMillisUnsafe())
      assert.isTrue(bucket.isFull(clock.currentTimeMillisUnsafe()))
      assert.isTrue(bucket.take(clock.currentTimeMillisUnsafe()))
      yield* TestClock.adjust("1 hour")
      assert.isFalse(bucket.isFull(clock.currentTimeMillisUnsafe()))
    })
  )
})
