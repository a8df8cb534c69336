/**
 * Tasks in 2025-11-25, where they are part of the protocol: a capability, and methods that the 2026-07-28 extension defines differently. A
 * request becomes a task if its params contain `task`. The client and the server share this value.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import * as Wire2025 from "../model/Wire2025.ts"
import { TasksExtension } from "./TasksExtension.ts"

const params = { taskId: Schema.String }

/** The original request's result, of any kind. */
const anyResult = Schema.StructWithRest(Schema.Struct({ _meta: Schema.optionalKey(JsonObject) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

export const CoreTasks = Extension.make(TasksExtension.id, {
  description: "Tool calls that outlive their request. A call without `task` is answered within its request.",
  capability: "tasks",
  revisions: ["2025-11-25"],
  // A client declares the tasks that it accepts, not that it will ask for any.
  undeclared: "served",
  clientSettings: TaskCapabilities,
  serverSettings: TaskCapabilities,
  requests: {
    get: Extension.request("tasks/get", { params, result: Wire2025.WireTask, readOnly: true }),
    result: Extension.request("tasks/result", { params, result: anyResult, readOnly: true, longRunning: true }),
    list: Extension.request("tasks/list", {
      params: { cursor: Schema.optionalKey(Schema.String) },
      result: { tasks: Schema.Array(Wire2025.WireTask), nextCursor: Schema.optionalKey(Schema.String) },
      readOnly: true
    }),
    cancel: Extension.request("tasks/cancel", { params, result: Wire2025.WireTask })
  },
  notifications: {
    status: Extension.notification("notifications/tasks/status", { from: "server", params: Wire2025.WireTask })
  }
})
