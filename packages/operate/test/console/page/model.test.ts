import * as model from "../../../src/console/page/model.ts"
import type { Ended, Figures, RequestRow, SessionRow, Snapshot } from "@effect-mcp/operate/Admin"
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
const session = (id: string, name: string): SessionRow => ({
  id,
  since: 0,
  principal: { subject: "ada" },
  client: { name, version: "1" }
})

const snapshot: Snapshot = {
  time: 100_000,
  draining: false,
  sessions: [session("s1", "desktop"), session("s2", "editor")],
  requests: [
    request({ key: "2", target: "young", session: "s1", since: 99_000 }),
    request({ key: "3", target: "old", session: "s2", since: 1000 }),
    request({ key: "4", kind: "question", method: "elicitation/create", session: "s2", since: 2000, relatedTo: "3" }),
    request({ key: "5", target: "alone", since: 50_000 })
  ]
}
const shown = (search: string, older = 0) =>
  model
    .groupsOf(snapshot, { search, older })
    .map((group) => [model.titleOf(group), ...group.rows.map(({ level, row }) => `${level} ${row.key}`)])

describe("A drain", () => {
  const nodes = (...states: ReadonlyArray<"serving" | "draining" | "unreachable">) =>
    states.map((state, i) => ({ name: `n${i}`, state, sessions: 0, requests: 0 }))

  it("A drain is offered to a token that may steer, while the server takes sessions", () => {
    const offered = (draining: boolean, maySteer: boolean) => model.drainOf({ draining }, maySteer).isOffered
    assert.deepStrictEqual(
      [offered(false, true), offered(true, true), offered(false, false), offered(true, false)],
      [true, false, false, false]
    )
  })

  it("A drain is offered for the nodes that serve, whatever the node does that is asked", () => {
    assert.deepStrictEqual(model.drainOf({ draining: true, nodes: nodes("draining", "serving") }, true), {
      isOffered: true,
      nodes: ["n1"]
    })
    assert.isFalse(model.drainOf({ draining: false, nodes: nodes("draining", "unreachable") }, true).isOffered)
    assert.isFalse(model.drainOf({ draining: false, nodes: nodes("serving") }, false).isOffered)
  })
})

describe("The groups of a snapshot", () => {
  it("The groups have the session with the oldest request first, and questions below the call that asks", () => {
    assert.deepStrictEqual(shown(""), [
      ["ada by editor 1", "2 3", "3 4"],
      ["Without a session", "2 5"],
      ["ada by desktop 1", "2 2"]
    ])
  })

  it("The groups have the requests that match, or all of a session that matches itself", () => {
    assert.deepStrictEqual(shown("OLD"), [["ada by editor 1", "2 3"]])
    assert.deepStrictEqual(shown("desktop"), [["ada by desktop 1", "2 2"]])
    assert.deepStrictEqual(shown("elicitation"), [["ada by editor 1", "2 4"]])
    assert.deepStrictEqual(shown("nothing"), [])
  })

  it("The groups leave out requests that are younger than asked for", () => {
    assert.deepStrictEqual(shown("", 60_000), [["ada by editor 1", "2 3", "3 4"]])
  })
})

describe("The bars of a timeline", () => {
  const ended = (given: Partial<Ended>): Ended => ({ kind: "request", method: "tools/call", from: 0, to: 0, ...given })

  it("The bars of a lane do not overlap, and bars before the beginning of the timeline are left out", () => {
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

  it("The calls between two readings are a rate, and the bounds that 95 of 100 of them lie between", () => {
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

  it("The plot of durations shows bounds instead of an exact figure", () => {
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

  it("The rate of calls is unknown without a metric or after a restart, and its bound is unknown without calls", () => {
    assert.deepStrictEqual(model.callsBetween(before, { ...before, time: 1000 }), { perSecond: 0, p95: undefined })
    assert.isUndefined(model.callsBetween(undefined, before))
    assert.isUndefined(model.callsBetween(before, { time: 1000, metrics: {} }))
    assert.isUndefined(model.callsBetween(before, figures(1000, 3, [[0.01, 3]])))
  })
})

it("An age is a text of two units", () => {
  const all = [-5, 999, 61_000, 3_660_000, 48 * 3_600_000].map(model.age)
  assert.deepStrictEqual(all, ["0 s", "0 s", "1 min 1 s", "1 h 1 min", "2 d 0 h"])
})
