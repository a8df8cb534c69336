import { quantile, Window } from "../../src/admin/Window.ts"
import { assert, describe, it } from "@effect/vitest"

const minute = 60_000

describe("Window", () => {
  it("Quantiles are at most a tenth away from the durations", () => {
    for (const milliseconds of [0.5, 3, 80, 158_000]) {
      const window = new Window()
      for (let i = 0; i < 10; i++) window.record(0, milliseconds, false)
      const found = quantile(window.counts(0).durations, 0.95) ?? assert.fail("no duration")
      assert.isBelow(Math.abs(found - milliseconds) / milliseconds, 0.1, `${milliseconds}`)
    }
    assert.isUndefined(quantile([], 0.5))
  })

  it("The 95th percentile ignores the slowest call of twenty, and the median half of them", () => {
    const window = new Window()
    for (let i = 0; i < 19; i++) window.record(0, 10, false)
    window.record(0, 10_000, false)
    const { durations } = window.counts(0)
    assert.isBelow(quantile(durations, 0.95) ?? Infinity, 11)
    assert.isAbove(quantile(durations, 0.99) ?? 0, 9000)
  })

  it("Calls are forgotten after 15 minutes", () => {
    const window = new Window()
    window.record(0, 1, true)
    window.record(14 * minute, 1, false)
    assert.deepInclude(window.counts(14 * minute), { calls: 2, failures: 1 })
    assert.deepInclude(window.counts(14 * minute, 2), { calls: 1, failures: 0 })
    assert.deepInclude(window.counts(15 * minute), { calls: 1, failures: 0 })
    for (let i = 15; i < 100; i++) window.record(i * minute, 1, false)
    assert.deepInclude(window.counts(99 * minute), { calls: 15, failures: 0 })
  })
})
