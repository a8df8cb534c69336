/** The laws of shared rate limits, for each kind of network. */
import { Nodes as Node } from "@effect-mcp/server/Nodes"
import { RateLimitStore, type Use } from "@effect-mcp/server/RateLimitStore"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { networks } from "../support/networks.ts"

/** Tokens per second: practically none. */
const slow = 0.001
const names = ["ann", "bob\u0000", `eve ${"é".repeat(4000)}`] as const

const Uses = Schema.Array(
  Schema.Struct({ node: Schema.Literals([0, 1]), bucket: Schema.Literals(names), used: Schema.Literals([0, 1, 7, 50]) })
).check(Schema.isMaxLength(30))

for (const { missing, name, open } of networks) {
  const stores = (count: number) =>
    Effect.flatMap(open, (layerOf) =>
      Effect.forEach(Array.from({ length: count }), () =>
        Effect.map(Layer.build(Layer.fresh(layerOf({ sharedRateLimits: true }))), (context) =>
          Option.getOrThrow(Context.getOption(context, RateLimitStore))
        )
      )
    )

  describe(`Rate limits over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live.prop(
      "Shared rate limits use one bucket for all nodes and count each concurrent use once",
      { uses: Uses },
      ({ uses }) =>
        Effect.gen(function* () {
          const nodes = yield* stores(2)
          const began = yield* Clock.currentTimeMillis
          const settle = (node: number, use: Use) => nodes[node]!.settle([use])
          yield* Effect.forEach(uses, ({ bucket, node, used }) => settle(node, { bucket, used, perSecond: slow }), {
            concurrency: 4
          })
          const left = yield* nodes[1]!.settle(names.map((bucket) => ({ bucket, used: 0, perSecond: slow })))
          const returned = (((yield* Clock.currentTimeMillis) - began + 1000) / 1000) * slow
          for (const [at, bucket] of names.entries()) {
            const used = uses.filter((use) => use.bucket === bucket).reduce((sum, { used }) => sum + used, 0)
            const expected = 2 * slow - used
            assert.isAtLeast(left[at]!, expected - 1e-9)
            assert.isAtMost(left[at]!, Math.min(2 * slow, expected + returned) + 1e-9)
          }
        }).pipe(Effect.scoped),
      { arbitrary: { runs: 5 } }
    )

    it.live("Shared rate limits refill by the store's clock, up to twice a second's worth", () =>
      Effect.gen(function* () {
        const [a, b] = yield* stores(2)
        const use = (used: number) => [{ bucket: "ann", used, perSecond: 1000 }]
        const [left] = yield* a!.settle(use(2300))
        assert.isAtMost(left!, -300)
        const full = yield* b!.settle(use(0)).pipe(Effect.repeat({ until: ([left]) => left! >= 2000 }))
        assert.deepStrictEqual(full, [2000])
      }).pipe(Effect.scoped)
    )

    it.live("Rate limits are per node unless the options share them", () =>
      Effect.gen(function* () {
        const context = yield* Layer.build((yield* open)())
        assert.isTrue(Option.isSome(Context.getOption(context, Node)))
        assert.isTrue(Option.isNone(Context.getOption(context, RateLimitStore)))
      }).pipe(Effect.scoped)
    )
  })
}
