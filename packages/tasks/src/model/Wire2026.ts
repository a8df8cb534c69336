/**
 * The task format of the `io.modelcontextprotocol/tasks` extension (since 2026-07-28).
 *
 * All objects are flat. If a tool reports a failure, its task is `completed`; `failed` is only used for JSON-RPC errors.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import { stateOf, type Task } from "./Task.ts"
import { Status, statusOf, time } from "./Wire2025.ts"

const fields = {
  taskId: Schema.String,
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String,
  ttlMs: Schema.NullOr(Schema.Finite),
  pollIntervalMs: Schema.optionalKey(Schema.Finite)
}
const Json = Schema.Record(Schema.String, Schema.Unknown)

/** The response to a request that became a task. Its `resultType` is `task`. */
export const CreateTaskResult = Schema.Struct({ ...fields, status: Status })
export type CreateTaskResult = typeof CreateTaskResult.Type

/** A task with the details of its status: the result of `tasks/get`, and the params of `notifications/tasks`. */
export const DetailedTask = Schema.Union([
  Schema.Struct({ ...fields, status: Schema.Literal("working") }),
  Schema.Struct({
    ...fields,
    status: Schema.Literal("input_required"),
    inputRequests: Schema.Record(
      Schema.String,
      Schema.Struct({ method: Schema.String, params: Schema.optionalKey(Json) })
    )
  }),
  Schema.Struct({ ...fields, status: Schema.Literal("completed"), result: Json }),
  Schema.Struct({
    ...fields,
    status: Schema.Literal("failed"),
    error: Schema.Struct({ code: Schema.Finite, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
  }),
  Schema.Struct({ ...fields, status: Schema.Literal("cancelled") })
])
export type DetailedTask = typeof DetailedTask.Type

const base = ({ createdAt, id, message, pollInterval, ttl, updatedAt }: Task) => ({
  taskId: id,
  ...(message === undefined ? undefined : { statusMessage: message }),
  createdAt: time(createdAt),
  lastUpdatedAt: time(updatedAt),
  ttlMs: ttl,
  pollIntervalMs: pollInterval
})

/** Returns a new task, without a result or questions. */
export const created = (task: Task): CreateTaskResult => ({ ...base(task), status: statusOf(task) })

/** Returns the questions without the data that only the server needs. */
const requestsOf = (questions: Task["questions"]) =>
  Object.fromEntries(Array.from(questions, ([key, { method, params }]) => [key, { method, params }]))

/** Returns the task with its questions, result or error. `result` is the original request's result in the reader's revision. */
export const write = (task: Task, result?: JsonObject): DetailedTask => {
  const { outcome, questions } = task
  if (outcome === undefined) {
    return stateOf(task) === "input_required"
      ? { ...base(task), status: "input_required", inputRequests: requestsOf(questions) }
      : { ...base(task), status: "working" }
  }
  if (outcome._tag === "Cancelled") return { ...base(task), status: "cancelled" }
  if (outcome._tag === "Result") return { ...base(task), status: "completed", result: result ?? outcome.result }
  const { code, data, message } = outcome
  return {
    ...base(task),
    status: "failed",
    statusMessage: task.message ?? message,
    error: { code, message, ...(data === undefined ? undefined : { data }) }
  }
}
