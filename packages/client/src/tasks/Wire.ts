/**
 * Tasks on the wire, as a client reads them: both generations. What a status comes with may be anything until it is used.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import { id, type TaskState } from "./TaskState.ts"

// Filters of its own: checks of `Schema` that late parts alone use would be in the start of each client.
const Millis = Schema.Finite.check(Schema.makeFilter((millis) => millis >= 0, { expected: "milliseconds, 0 or more" }))
const MillisOrNull = Schema.Union([Millis, Schema.Null])
const fields = {
  /** Travels in a header. */
  taskId: Schema.String.check(
    Schema.makeFilter(({ length }) => length > 0 && length <= 1024, { expected: "1 to 1024 characters" })
  ),
  status: Schema.Literals(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String
}

/** 2026-07-28: a task with what its status comes with. */
export const DetailedTask = Schema.Struct({
  ...fields,
  ttlMs: MillisOrNull,
  pollIntervalMs: Schema.optionalKey(Millis),
  inputRequests: Schema.optionalKey(JsonObject),
  result: Schema.optionalKey(JsonObject),
  error: Schema.optionalKey(
    Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
  )
})
export type DetailedTask = typeof DetailedTask.Type

/** 2025-11-25: a task alone. */
export const CoreTask = Schema.Struct({
  ...fields,
  ttl: MillisOrNull,
  pollInterval: Schema.optionalKey(Millis)
})
export type CoreTask = typeof CoreTask.Type

export const stateOf = (task: DetailedTask | CoreTask): TaskState => ({
  id: task.taskId,
  status: task.status,
  message: task.statusMessage,
  createdAt: task.createdAt,
  lastUpdatedAt: task.lastUpdatedAt,
  ttl: "ttlMs" in task ? task.ttlMs : task.ttl,
  pollInterval: "ttlMs" in task ? task.pollIntervalMs : task.pollInterval
})

const params = { taskId: Schema.String }
/** Requests of one task name it in a header. */
const nameParam = "taskId"

export const Tasks = Extension.make(id, {
  revisions: ["2026-07-28"],
  requests: {
    get: Extension.request("tasks/get", { params, result: DetailedTask, nameParam, readOnly: true }),
    update: Extension.request("tasks/update", {
      params: { ...params, inputResponses: JsonObject },
      nameParam,
      mayAsk: false
    }),
    cancel: Extension.request("tasks/cancel", { params, nameParam })
  },
  notifications: { changed: Extension.notification("notifications/tasks", { from: "server", params: DetailedTask }) },
  subscriptions: { taskIds: Extension.subscription("taskIds", Schema.Array(Schema.String)) }
})

/** `tasks/result` is sent as it is: its result is that of the call, with its `_meta`. */
export const CoreTasks = Extension.make(id, {
  revisions: ["2025-11-25"],
  capability: "tasks",
  // A client declares what it accepts as tasks, not that it asks for some.
  undeclared: "served",
  serverSettings: TaskCapabilities,
  requests: {
    get: Extension.request("tasks/get", { params, result: CoreTask, readOnly: true }),
    cancel: Extension.request("tasks/cancel", { params, result: CoreTask }),
    list: Extension.request("tasks/list", {
      params: { cursor: Schema.optionalKey(Schema.String) },
      result: { tasks: Schema.Array(CoreTask), nextCursor: Schema.optionalKey(Schema.String) },
      readOnly: true
    })
  },
  notifications: {
    changed: Extension.notification("notifications/tasks/status", { from: "server", params: CoreTask })
  }
})
