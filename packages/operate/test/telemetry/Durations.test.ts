import { Telemetry } from "@effect-mcp/operate"
import { Tool, Tools } from "@effect-mcp/core"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"

const Wait = Tool.make("wait", { description: "Waits", input: { seconds: Schema.Finite } })
const Echo = Tool.make("echo", { description: "Answers at once" })
const features = Layer.merge(
  Tools.layer(Wait, ({ seconds }) => Effect.as(Effect.sleep(seconds * 1000), "done")),
  Tools.layer(Echo, () => Effect.succeed("done"))
)

/** The histograms of calls, by tool, as exporters see them. */
const histograms = Effect.map(Metric.snapshot, (all) =>
  Object.fromEntries(
    all.flatMap(({ attributes, id, state }) =>
      id === "mcp.server.operation.duration" && attributes?.["mcp.method.name"] === "tools/call" && "buckets" in state
        ? [[attributes["gen_ai.tool.name"], state] as const]
        : []
    )
  )
)

/** A server with a separate layer. */
const connected = Effect.flatMap(Layer.build(Telemetry.layer()), (observed) =>
  Effect.provide(McpTest.connect(features, "2025-11-25"), observed)
)
const measured = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Metric.MetricRegistry, new Map())

describe("Duration histogram", () => {
  it.effect("The duration histogram matches Effect's own for the same values", () =>
    Effect.gen(function* () {
      const client = yield* connected
      const own = Metric.histogram("own", { boundaries: Telemetry.boundaries })
      for (const seconds of [0, 0.01, 0.015, 0.5, 5, 11, 10]) {
        const call = yield* Effect.forkChild(client.callToolByName("wait", { seconds }))
        yield* quiesce
        yield* TestClock.adjust(seconds * 1000)
        yield* Fiber.join(call)
        yield* Metric.update(own, seconds)
      }
      const { wait } = yield* histograms
      assert.deepStrictEqual(wait, yield* Metric.value(own))
    }).pipe(Effect.scoped, measured)
  )

  it.effect("All layers of a registry share one duration histogram", () =>
    Effect.gen(function* () {
      const first = yield* connected
      const second = yield* connected
      yield* first.callToolByName("echo")
      yield* second.callToolByName("echo")
      yield* first.callToolByName("echo")
      assert.strictEqual((yield* histograms)["echo"]?.count, 3)
    }).pipe(Effect.scoped, measured)
  )

  it.effect("A histogram starts over after the program removes it from its registry", () =>
    Effect.gen(function* () {
      const client = yield* connected
      for (let i = 0; i < 3; i++) yield* client.callToolByName("echo")
      assert.strictEqual((yield* histograms)["echo"]?.count, 3)
      const registry = yield* Metric.MetricRegistry
      registry.clear()
      assert.isUndefined((yield* histograms)["echo"])
      yield* client.callToolByName("echo")
      assert.strictEqual((yield* histograms)["echo"]?.count, 1)
    }).pipe(Effect.scoped, measured)
  )
})
