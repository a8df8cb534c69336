/** The wire format of tasks as a client reads them, in both generations. A status's details are not checked until they are used. */
import * as Extension from "@effect-mcp/core/Extension"
import { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import { id, type TaskState } from "./TaskState.ts"

// Custom filters, because the `Schema` checks would be loaded at startup by every client, although only code loaded later uses them.
const Millis = Schema.Finite.check(Schema.makeFilter((millis) => millis >= 0, { expected: "milliseconds, 0 or more" }))
const MillisOrNull = Schema.Union([Millis, Schema.Null])
const fields = {
  /** Sent in a header. */
  taskId: Schema.String.check(
    Schema.makeFilter(({ length }) => length > 0 && length <= 1024, { expected: "1 to 1024 characters" })
  ),
  status: Schema.Literals(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String
}

/** 2026-07-28: a task with the details of its status. */
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

/** 2025-11-25: a task without details. */
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
/** Requests for one task name it in a header. */
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

/** The result of `tasks/result` is returned unchanged. It contains the call's result, with its `_meta`. */
export const CoreTasks = Extension.make(id, {
  revisions: ["2025-11-25"],
  capability: "tasks",
  // A client declares the tasks that it accepts, not that it will ask for any.
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
