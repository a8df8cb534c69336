/** Tasks that have ended, as a store in memory holds them. */
import { assert, describe, it } from "@effect/vitest"
import type { TaskOutcome } from "../../src/model/Task.ts"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { EndedRow } from "../../src/store/EndedRow.ts"
import { Kept } from "../../src/store/Kept.ts"
import { bytesOf, newRow, newTask } from "../../src/store/Row.ts"

const input = { owner: "ada", tool: "tool", input: { name: "tool" }, client: {}, ttl: 60_000, pollInterval: 1000 }

const outcomeOf = (i: number): TaskOutcome => {
  if (i % 4 === 0) return { _tag: "Cancelled" }
  if (i % 4 === 1) return { _tag: "Error", code: i, message: "No", data: [i] }
  // Every fourth is longer than what is kept as a text.
  return { _tag: "Result", result: { content: [{ type: "text", text: `${i} é`.repeat(i % 4 === 3 ? 2000 : 1) }] } }
}

const rowOf = (i: number, outcome: TaskOutcome, message?: string): EndedRow => {
  const task = { ...newTask(`t${i}`, input, 1000 + i), message: "Working" }
  return new EndedRow(newRow(task, input, i, { node: "a", until: 0 }), 2000 + i, outcome, message)
}

describe("a task that has ended", () => {
  it("A task that has ended is read as it ended, while its outcome is among the last and after that", () => {
    const rows = Array.from({ length: 200 }, (_, i) => rowOf(i, outcomeOf(i), i % 3 === 0 ? "Over" : undefined))
    rows.forEach((row, i) => {
      const outcome = outcomeOf(i)
      assert.deepStrictEqual(row.task, {
        ...newTask(`t${i}`, input, 1000 + i),
        updatedAt: 2000 + i,
        message: i % 3 === 0 ? "Over" : undefined,
        outcome
      })
      assert.strictEqual(row.bytes, bytesOf(outcome))
    })
  })

  it("The outcomes that were read last keep no task of a store that is no longer used", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const kept = () => {
      const store = new Kept({})
      const first = rowOf(2, outcomeOf(2))
      store.add(first)
      for (let i = 0; i < 100; i++) store.add(rowOf(2, outcomeOf(2)))
      return new WeakRef(first)
    }
    const first = kept()
    for (let n = 0; n < 20 && first.deref() !== undefined; n++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect()
    }
    assert.isUndefined(first.deref())
  })

  it("An outcome that was read is not read from its text again", () => {
    for (const i of [2, 3]) {
      const row = rowOf(i, outcomeOf(i))
      assert.strictEqual(row.task.outcome, row.task.outcome)
    }
  })

  const unlikeJson = (padding: number) => ({
    when: new Date(0),
    missing: undefined,
    nothing: [undefined, Number.NaN, -0],
    surrogate: "\ud800",
    given: JSON.parse('{ "__proto__": { "n": 1 } }'),
    own: { toJSON: () => "own" },
    long: "x".repeat(padding)
  })

  it("A task ends with the JSON form of its result, while it is among the last, after that, and where it is long", () => {
    for (const padding of [0, 5000]) {
      const result = { content: [], structuredContent: unlikeJson(padding) }
      const expected: unknown = { _tag: "Result", result: JSON.parse(JSON.stringify(result)) }
      const row = rowOf(2, { _tag: "Result", result })
      assert.deepStrictEqual(row.task.outcome, expected)
      for (let i = 0; i < 64; i++) void rowOf(i, outcomeOf(2)).task
      assert.deepStrictEqual(row.task.outcome, expected)
    }
  })

  it("A result that its handler changes later is read as it was at the end of the task", () => {
    for (const text of ["short", "long ".repeat(1000)]) {
      const content = [{ type: "text", text }]
      const row = rowOf(2, { _tag: "Result", result: { content } })
      content.push({ type: "text", text: "Later" })
      assert.deepStrictEqual(row.task.outcome, { _tag: "Result", result: { content: [{ type: "text", text }] } })
    }
  })
})
