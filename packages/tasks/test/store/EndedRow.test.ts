/** Tasks that have ended, as a store in memory holds them. */
import { assert, describe, it } from "@effect/vitest"
import type { TaskOutcome } from "../../src/model/Task.ts"
import { EndedRow } from "../../src/store/EndedRow.ts"
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
        message: i % 3 === 0 ? "Over" : "Working",
        outcome
      })
      assert.strictEqual(row.bytes, bytesOf(outcome))
    })
  })

  it("The outcome of a task that ended last is the one that it ended with, not a copy", () => {
    const outcome = outcomeOf(2)
    assert.strictEqual(rowOf(2, outcome).task.outcome, outcome)
  })
})
