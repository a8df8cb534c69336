import * as model from "../../../src/console/page/model.ts"
import type { Ended, Figures, RequestRow } from "@effect-mcp/operate/Admin"
import { assert, describe, it } from "@effect/vitest"

const request = (given: Partial<RequestRow>): RequestRow => ({
  key: "1",
  kind: "request",
  method: "tools/call",
  state: "running",
  since: 0,
  asking: [],
  principal: {},
  ...given
})

describe("Counting rows", () => {
  it("Rows are called tasks if all of them are tasks", () => {
    const task = request({ kind: "task" })
    assert.deepStrictEqual([[], [task], [task, task], [request({})], [task, request({})]].map(model.countOf), [
      "0 requests",
      "1 task",
      "2 tasks",
      "1 request",
      "2 requests"
    ])
  })
})

describe("Draining", () => {
  const nodes = (...states: ReadonlyArray<"serving" | "draining" | "unreachable">) =>
    states.map((state, i) => ({ name: `n${i}`, state, sessions: 0, requests: 0 }))

  it("A drain is offered to a token with write access while the server accepts sessions", () => {
    const offered = (draining: boolean, maySteer: boolean) => model.drainOf({ draining }, maySteer).isOffered
    assert.deepStrictEqual(
      [offered(false, true), offered(true, true), offered(false, false), offered(true, false)],
      [true, false, false, false]
    )
  })

  it("A drain is offered for serving nodes, regardless of the queried node's state", () => {
    assert.deepStrictEqual(model.drainOf({ draining: true, nodes: nodes("draining", "serving") }, true), {
      isOffered: true,
      nodes: ["n1"]
    })
    assert.isFalse(model.drainOf({ draining: false, nodes: nodes("draining", "unreachable") }, true).isOffered)
    assert.isFalse(model.drainOf({ draining: false, nodes: nodes("serving") }, false).isOffered)
  })
})

describe("Timeline bars", () => {
  const ended = (given: Partial<Ended>): Ended => ({ kind: "request", method: "tools/call", from: 0, to: 0, ...given })

  it("Bars in a lane do not overlap, and bars before the timeline's start are omitted", () => {
    const all = [
      ended({ from: 0, to: 10, target: "gone" }),
      ended({ from: 1000, to: 2000, target: "a", outcome: "answered" }),
      ended({ from: 1500, to: 3000, target: "b", outcome: "tool_failed" }),
      ended({ from: 2500, to: 2600, target: "c", outcome: "cancelled" })
    ]
    const bars = model.barsOf(all, [request({ since: 2900, target: "d" })], new Map([["1", [2950]]]), {
      from: 1000,
      now: 3000
    })
    assert.deepStrictEqual(
      bars.map(({ lane, look, ticks, title }) => [title, lane, look, ticks]),
      [
        ["tools/call a", 0, "answered", []],
        ["tools/call b", 1, "failed", []],
        ["tools/call c", 0, "cancelled", []],
        ["tools/call d", 0, "running", [2950]]
      ]
    )
    assert.strictEqual(bars[1]?.says, "tool failed, 1.5 s")
  })
})

describe("Calls between two readings", () => {
  const figures = (time: number, count: number, buckets: ReadonlyArray<readonly [number, number]>): Figures => ({
    time,
    metrics: { "mcp.server.operation.duration": { type: "histogram", unit: "s", count, sum: 0, buckets } }
  })
  const before = figures(0, 100, [
    [0.01, 100],
    [0.1, 100]
  ])

  it("Calls between two readings have a rate and bounds for 95% of them", () => {
    const after = figures(2000, 120, [
      [0.01, 110],
      [0.1, 119]
    ])
    assert.deepStrictEqual(model.callsBetween(before, after), { perSecond: 10, p95: { above: 0.01, upTo: 0.1 } })
    const slow = figures(2000, 120, [
      [0.01, 110],
      [0.1, 118]
    ])
    assert.deepStrictEqual(model.callsBetween(before, slow)?.p95, { above: 0.1, upTo: Infinity })
  })

  it("The duration plot shows bounds instead of an exact figure", () => {
    const all = [
      { above: 0, upTo: 0.01 },
      { above: 120, upTo: 300 },
      { above: 300, upTo: Infinity }
    ]
    assert.deepStrictEqual(all.map(model.withinText), [
      `under ${model.duration(10)}`,
      `${model.duration(120_000)} to ${model.duration(300_000)}`,
      `over ${model.duration(300_000)}`
    ])
  })

  it("The call rate is unknown without a metric or after a restart, and its bound without calls", () => {
    assert.deepStrictEqual(model.callsBetween(before, { ...before, time: 1000 }), { perSecond: 0, p95: undefined })
    assert.isUndefined(model.callsBetween(undefined, before))
    assert.isUndefined(model.callsBetween(before, { time: 1000, metrics: {} }))
    assert.isUndefined(model.callsBetween(before, figures(1000, 3, [[0.01, 3]])))
  })
})

it("An age is formatted with two units", () => {
  const all = [-5, 999, 61_000, 3_660_000, 48 * 3_600_000].map(model.age)
  assert.deepStrictEqual(all, ["0 s", "0 s", "1 min 1 s", "1 h 1 min", "2 d 0 h"])
})

it("An age warms in four steps", () => {
  assert.deepStrictEqual(
    [0, 9999, 10_000, 60_000, 299_999, 300_000, 1_800_000, 1e9].map(model.warmth),
    [0, 0, 1, 2, 2, 3, 4, 4]
  )
})

it("A small share is not shown as zero", () => {
  assert.deepStrictEqual([model.shared(0, 10), model.shared(1, 1000), model.shared(1, 3)], ["0%", "<1%", "33%"])
})
