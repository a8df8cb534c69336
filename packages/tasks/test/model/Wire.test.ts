/** Both wire forms of a task match the schemas of the two generations. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import type { TaskOutcome, Task } from "../../src/model/Task.ts"
import * as Wire2025 from "../../src/model/Wire2025.ts"
import * as Wire2026 from "../../src/model/Wire2026.ts"

const Outcomes = Schema.Union([
  Schema.TaggedStruct("Result", {
    result: Schema.Struct({
      content: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })),
      isError: Schema.optionalKey(Schema.Boolean)
    })
  }),
  Schema.TaggedStruct("Error", { code: Schema.Int, message: Schema.String }),
  Schema.TaggedStruct("Cancelled", {})
])
const Time = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4e12 }))
const Positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1e9 }))

const question = { method: "com.example/pick", params: {} }

/** Any task that a store may contain. A task that has ended has no open question. */
const tasks: Arbitrary.Arbitrary<Task> = Arbitrary.map(
  Arbitrary.schema(
    Schema.Struct({
      createdAt: Time,
      ttl: Positive,
      pollInterval: Positive,
      message: Schema.UndefinedOr(Schema.String),
      keys: Schema.Array(Schema.Literals(["a", "b"])),
      outcome: Schema.UndefinedOr(Outcomes)
    })
  ),
  ({ createdAt, keys, outcome, ...rest }) => ({
    ...rest,
    id: "id",
    createdAt,
    updatedAt: createdAt + 1,
    outcome,
    questions: new Map(
      outcome === undefined ? keys.map((key) => [key, { ...question, extension: "com.example/x" }]) : []
    )
  })
)

const task = (outcome: TaskOutcome | undefined, message?: string): Task => ({
  id: "id",
  createdAt: 0,
  updatedAt: 1,
  ttl: 60_000,
  pollInterval: 1000,
  message,
  questions: new Map(),
  outcome
})

const failedTool: TaskOutcome = {
  _tag: "Result",
  result: { content: [{ type: "text", text: "No disk" }], isError: true }
}
const error: TaskOutcome = { _tag: "Error", code: -32603, message: "Broken" }

describe("Wire format of tasks", () => {
  it.prop(
    "Times are written as ISO 8601, even if stored in an older format",
    { times: Schema.Array(Schema.Union([Time, Schema.Literals([0, 32, 64])])) },
    ({ times }) => {
      const expected = times.map((millis) => new Date(millis).toISOString())
      assert.deepStrictEqual(times.map(Wire2025.time), expected)
    }
  )

  it.effect.prop("A 2025-11-25 task matches the schema on the wire", { task: tasks }, ({ task }) =>
    Effect.gen(function* () {
      const wire = JSON.parse(JSON.stringify(Wire2025.write(task)))
      const { createdAt, status } = yield* Schema.decodeUnknownEffect(Wire2025.WireTask)(wire)
      assert.strictEqual(Date.parse(createdAt), task.createdAt)
      assert.strictEqual(status === "input_required", task.questions.size > 0)
      assert.strictEqual(status === "cancelled", task.outcome?._tag === "Cancelled")
      assert.notProperty(wire, "result")
    })
  )

  it.effect.prop("An extension task has only the members that its status allows", { task: tasks }, ({ task }) =>
    Effect.gen(function* () {
      const wire = JSON.parse(JSON.stringify(Wire2026.write(task)))
      const detailed = yield* Schema.decodeUnknownEffect(Wire2026.DetailedTask)(wire)
      assert.deepStrictEqual(
        Object.keys(wire).filter((key) => ["result", "error", "inputRequests"].includes(key)),
        { working: [], cancelled: [], input_required: ["inputRequests"], completed: ["result"], failed: ["error"] }[
          detailed.status
        ]
      )
      if (detailed.status === "input_required") {
        const expected = Array.from(task.questions.keys(), (key) => [key, question])
        assert.deepStrictEqual(wire.inputRequests, Object.fromEntries(expected))
      }
      const seed = JSON.parse(JSON.stringify(Wire2026.created(task)))
      yield* Schema.decodeUnknownEffect(Wire2026.CreateTaskResult)(seed)
      for (const key of ["result", "error", "inputRequests"]) assert.notProperty(seed, key)
    })
  )

  it("A tool's failure is `failed` in 2025-11-25 and `completed` in the extension", () => {
    const { status, statusMessage } = Wire2025.write(task(failedTool))
    assert.deepStrictEqual([status, statusMessage], ["failed", "No disk"])
    assert.strictEqual(Wire2026.write(task(failedTool)).status, "completed")
  })

  it("A JSON-RPC error is `failed` with its message in both wire formats", () => {
    assert.deepStrictEqual(
      [Wire2025.write(task(error)).status, Wire2025.write(task(error)).statusMessage],
      ["failed", "Broken"]
    )
    const wire = Wire2026.write(task(error, "Half of it is done"))
    assert.deepInclude(wire, {
      status: "failed",
      statusMessage: "Half of it is done",
      error: { code: -32603, message: "Broken" }
    })
  })
})
