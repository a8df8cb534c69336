/**
 * The task format of 2025-11-25 (spec: basic/utilities/tasks).
 *
 * Here, if a tool reports a failure, its task is `failed`, although `tasks/result` returns the tool's result. The response to the original
 * request nests the task; all other responses are flat.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import { isToolFailure, type TaskOutcome, stateOf, type Task, textOf } from "./Task.ts"

export const Status = Schema.Literals(["working", "input_required", "completed", "failed", "cancelled"])
export type Status = typeof Status.Type

/** A task as sent to clients. `ttl` and `pollInterval` are in milliseconds. A `ttl` of null means unlimited. */
export const WireTask = Schema.Struct({
  taskId: Schema.String,
  status: Status,
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String,
  ttl: Schema.NullOr(Schema.Finite),
  pollInterval: Schema.optionalKey(Schema.Finite)
})
export type WireTask = typeof WireTask.Type

/** The `_meta` key that links a message to its task. */
export const relatedTask = "io.modelcontextprotocol/related-task"

/** Returns the `_meta` entry for all of a task's messages except the task methods. */
export const related = (taskId: string): JsonObject => ({ [relatedTask]: { taskId } })

const ended = (outcome: TaskOutcome): Status => {
  if (outcome._tag === "Cancelled") return "cancelled"
  return outcome._tag === "Error" || isToolFailure(outcome) ? "failed" : "completed"
}

const messageOf = ({ message, outcome }: Task): string | undefined => {
  if (outcome?._tag === "Error") return outcome.message
  if (outcome?._tag === "Result" && isToolFailure(outcome)) return textOf(outcome.result) ?? message
  return message
}

/** Recently formatted times, by their last five bits, because a short task is created, read and announced within one turn. */
const written: Array<{ readonly millis: number; readonly text: string } | undefined> = Array.from({ length: 32 })

/** Formats a time as ISO 8601. */
export const time = (millis: number): string => {
  const place = millis & 31
  const known = written[place]
  if (known?.millis === millis) return known.text
  const text = new Date(millis).toISOString()
  written[place] = { millis, text }
  return text
}

export const statusOf = (task: Task): Status => {
  if (task.outcome !== undefined) return ended(task.outcome)
  return stateOf(task) === "input_required" ? "input_required" : "working"
}

export const write = (task: Task): WireTask => {
  const statusMessage = messageOf(task)
  return {
    taskId: task.id,
    status: statusOf(task),
    ...(statusMessage === undefined ? undefined : { statusMessage }),
    createdAt: time(task.createdAt),
    lastUpdatedAt: time(task.updatedAt),
    ttl: task.ttl,
    pollInterval: task.pollInterval
  }
}
