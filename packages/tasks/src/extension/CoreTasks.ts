/**
 * Tasks of 2025-11-25, where they are a part of the protocol: a capability of their own, and methods that the extension of 2026-07-28 has
 * in another form. A request becomes a task by `task` in its params. Both sides share this value.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import * as Wire2025 from "../model/Wire2025.ts"
import { TasksExtension } from "./TasksExtension.ts"

const params = { taskId: Schema.String }

/** What the original request would have been answered with, whatever that is. */
const anyResult = Schema.StructWithRest(Schema.Struct({ _meta: Schema.optionalKey(JsonObject) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

export const CoreTasks = Extension.make(TasksExtension.id, {
  description: "Calls of tools that outlive their request. A call without `task` is answered within its request.",
  capability: "tasks",
  revisions: ["2025-11-25"],
  // A client declares what it accepts as tasks, not that it asks for some.
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
