import { assert, describe, it } from "@effect/vitest"
import { apply } from "../../src/messages/apply.ts"
import type { PageState, UserRun } from "../../src/messages/Events.ts"
import { Board } from "../../src/session/Board.ts"

const empty = (): PageState =>
  new Board({
    name: { name: "x", words: undefined, url: undefined, hasViews: false },
    revisions: [],
    runs: [],
    settings: { roots: [], replies: [] }
  }).state

const run = (id: number, part: Partial<UserRun>): UserRun => ({
  id,
  kind: "tool",
  name: "a",
  input: { a: 1 },
  asTask: false,
  revision: "2025-11-25",
  startedAt: 0,
  status: "done",
  progress: [],
  tasks: [],
  ...part
})

const runsAfter = (all: ReadonlyArray<UserRun>) =>
  all.reduce((state, each) => apply(state, { _tag: "Run", run: each }), empty()).runs

describe("Limits of the page's memory", () => {
  it("Only the latest runs are kept", () => {
    const runs = runsAfter(Array.from({ length: 250 }, (_, at) => run(at, { size: 10 })))
    assert.strictEqual(runs.length, 200)
    assert.strictEqual(runs[0]?.id, 50)
  })

  it("Long results are kept of the latest runs only", () => {
    const size = 10_000_000
    const runs = runsAfter([1, 2, 3, 4, 5].map((id) => run(id, { size, result: { id } })))
    assert.deepStrictEqual(
      runs.map(({ result, size }) => [result, size]),
      [
        [undefined, 0],
        [undefined, 0],
        [{ id: 3 }, size],
        [{ id: 4 }, size],
        [{ id: 5 }, size]
      ]
    )
  })

  it("A run that has not ended stays whole", () => {
    const runs = runsAfter([run(1, { status: "running" }), run(2, { size: 40_000_000, result: {} })])
    assert.deepStrictEqual(runs[0]?.input, { a: 1 })
  })
})
