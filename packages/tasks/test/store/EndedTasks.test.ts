/** Tasks that have ended, as an in-memory store keeps them. */
import { assert, describe, it } from "@effect/vitest"
import type { TaskOutcome } from "../../src/model/Task.ts"
import { endedOf } from "../../src/store/EndedTasks.ts"
import { bytesOf, newRow, newTask } from "../../src/store/Row.ts"

const input = { owner: "ada", tool: "tool", input: { name: "tool" }, client: {}, ttl: 60_000, pollInterval: 1000 }

const ended = (outcome: TaskOutcome, message?: string) => {
  const task = { ...newTask("t", input, 1000), message: "Working" }
  return endedOf(newRow(task, input, 1, { node: "a", until: 0 }), 2000, outcome, message)
}

const outcomes: ReadonlyArray<TaskOutcome> = [
  { _tag: "Cancelled" },
  { _tag: "Error", code: 1, message: "No", data: [1] },
  { _tag: "Result", result: { content: [{ type: "text", text: "1 é" }] } }
]

const unlikeJson = {
  when: new Date(0),
  missing: undefined,
  nothing: [undefined, Number.NaN, -0],
  surrogate: "\ud800",
  given: JSON.parse('{ "__proto__": { "n": 1 } }'),
  own: { toJSON: () => "own" }
}

describe("Ended tasks", () => {
  it("An ended task keeps its outcome, its last message and the outcome's size", () => {
    for (const outcome of outcomes) {
      for (const message of [undefined, "Over"]) {
        const { bytes, task } = ended(outcome, message)
        assert.deepStrictEqual(task, { ...newTask("t", input, 1000), updatedAt: 2000, message, outcome })
        assert.strictEqual(bytes, bytesOf(outcome))
      }
    }
  })

  it("An ended task keeps its result in JSON form", () => {
    const result = { content: [], structuredContent: unlikeJson }
    const expected: unknown = { _tag: "Result", result: JSON.parse(JSON.stringify(result)) }
    assert.deepStrictEqual(ended({ _tag: "Result", result }).task.outcome, expected)
  })

  it("An ended task's result is unaffected by later changes to the value", () => {
    const content = [{ type: "text", text: "Before" }]
    const { task } = ended({ _tag: "Result", result: { content } })
    content.push({ type: "text", text: "Later" })
    assert.deepStrictEqual(task.outcome, { _tag: "Result", result: { content: [{ type: "text", text: "Before" }] } })
  })
})
