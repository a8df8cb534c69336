/** The server that shows its own measurements, without a browser. */
import { features as dice } from "@effect-mcp/examples/apps/dice"
import { features } from "@effect-mcp/examples/apps/features"
import { Measurements } from "@effect-mcp/examples/apps/measurements"
import { Sampler } from "@effect-mcp/examples/apps/sampler"
import { McpTest } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

it.effect("The tool returns the measurements in a range, and its view is one page", () =>
  Effect.gen(function* () {
    const client = yield* McpTest.connect(Layer.provide(features, Sampler.layer), "2026-07-28")
    yield* TestClock.adjust("10 seconds")
    const all = yield* client.callTool(Measurements, {})
    assert.deepStrictEqual(
      all.points.map(({ second }) => second),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    )
    const some = yield* client.callTool(Measurements, { metric: "cpu", from: 3, to: 5 })
    assert.deepInclude(some, { metric: "cpu", unit: "% of a core", from: 3, to: 5 })
    assert.strictEqual(some.points.length, 3)
    const page = yield* client.readResourceText("ui://measurements")
    assert.match(page, /^<!doctype html>/)
    assert.notInclude(page, "import ")
  }).pipe(Effect.scoped)
)

it.effect("The dice page talks to its host without any library", () =>
  Effect.gen(function* () {
    const client = yield* McpTest.connect(dice, "2026-07-28")
    assert.include(yield* client.readResourceText("ui://dice"), "ui/initialize")
  }).pipe(Effect.scoped)
)
