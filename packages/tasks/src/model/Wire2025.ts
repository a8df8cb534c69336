/**
 * Tasks as 2025-11-25 writes them (spec: basic/utilities/tasks).
 *
 * A tool that reports a failure is `failed` here, though `tasks/result` gives its result. The answer to the original request nests the
 * task; all other answers are flat.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import { isToolFailure, type TaskOutcome, stateOf, type Task, textOf } from "./Task.ts"

export const Status = Schema.Literals(["working", "input_required", "completed", "failed", "cancelled"])
export type Status = typeof Status.Type

/** A task on the wire. `ttl` and `pollInterval` are in milliseconds; a `ttl` of null is unlimited. */
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

/** The key of `_meta` that says which task a message belongs to. */
export const relatedTask = "io.modelcontextprotocol/related-task"

/** The entry of `_meta` for every message of a task but its own requests. */
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

/** The times that were written last, by their last five bits: tasks of a few milliseconds are made, read and told in one turn. */
const written: Array<{ readonly millis: number; readonly text: string } | undefined> = Array.from({ length: 32 })

/** ISO 8601. */
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
