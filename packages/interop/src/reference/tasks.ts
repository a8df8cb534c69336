/**
 * Tools whose calls may or must outlive their request. Names and arguments are the conformance suite's. The handlers are written like all
 * others here, and run in every revision in which their tool can be called.
 */
import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import { Tasks } from "@effect-mcp/tasks"
import type { Journal } from "@effect-mcp/tasks/Journal"
import type { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { Effect, Layer, Schema } from "effect"

const greet = Tools.layer(
  Tool.make("greet", { description: "Greets by name, within the request.", input: { name: Schema.String } }),
  ({ name }) => Effect.succeed(`Hello, ${name}!`)
)

const slowCompute = Tools.layer(
  Tool.make("slow_compute", {
    description: "Takes some seconds.",
    input: { seconds: Schema.Finite, label: Schema.optionalKey(Schema.String) },
    task: "optional"
  }),
  Effect.fnUntraced(function* ({ label = "nothing", seconds }) {
    yield* Progress.report(0, { message: `Computing ${label}` })
    yield* Effect.sleep(`${Math.max(0, seconds)} seconds`)
    return `Computed ${label} in ${seconds} seconds`
  })
)

const failingJob = Tools.layer(
  Tool.make("failing_job", { description: "Fails, as a task only.", task: "required" }),
  () => Effect.fail(new Tools.ToolFailure({ message: "The job failed" }))
)

const protocolErrorJob = Tools.layer(
  Tool.make("protocol_error_job", { description: "Ends with a JSON-RPC error.", task: "optional" }),
  () => Effect.fail(McpError.internalError("The job broke"))
)

const confirmDelete = Tools.layer(
  Tool.make("confirm_delete", {
    description: "Deletes nothing, after it asked.",
    input: { filename: Schema.String },
    task: "optional"
  }),
  Effect.fnUntraced(function* ({ filename }) {
    const { confirm } = yield* Elicitation.form(`Delete ${filename}?`, Schema.Struct({ confirm: Schema.Boolean }), {
      key: "confirm"
    })
    return confirm ? `Deleted ${filename}` : `Kept ${filename}`
  })
)

const multiInput = Tools.layer(
  Tool.make("multi_input", { description: "Asks two questions at once.", task: "optional" }),
  Effect.fnUntraced(function* () {
    const ask = (key: string) =>
      Elicitation.form(`Who is the ${key} guest?`, Schema.Struct({ name: Schema.String }), { key })
    const guests = yield* Effect.all([ask("first"), ask("second")], { concurrency: "unbounded" })
    return `Welcome, ${guests.map(({ name }) => name).join(" and ")}!`
  })
)

const askThenTask = Tools.layer(
  Tool.make("test_tool_with_task", { description: "Asks for a name, then goes on as a task.", task: "required" }),
  Effect.fnUntraced(function* () {
    const { name } = yield* Elicitation.form("What is your name?", Schema.Struct({ name: Schema.String }), {
      key: "user_name"
    })
    yield* Tasks.begin
    return `Hello, ${name}!`
  }),
  { beginsTask: true }
)

const timing = { ttl: "1 hour", pollInterval: "100 millis" } as const

/** The tools, with the support for tasks. `store` keeps the tasks; default: in this process. */
export const tasks = (store: Layer.Layer<TaskStore | Journal> | undefined) =>
  Layer.mergeAll(
    greet,
    slowCompute,
    failingJob,
    protocolErrorJob,
    confirmDelete,
    multiInput,
    askThenTask,
    store === undefined ? Tasks.layer(timing) : Layer.provide(Tasks.layerStore(timing), store)
  )
