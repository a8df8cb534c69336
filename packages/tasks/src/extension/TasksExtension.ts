/**
 * The extension `io.modelcontextprotocol/tasks` (2026-07-28 on): a call of a tool may be answered with a task, which the client reads,
 * answers and cancels by requests of their own. Both sides share this value.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import * as Wire2026 from "../model/Wire2026.ts"

const params = { taskId: Schema.String }
/** Requests of one task name it in a header, so that a proxy can send them to the node that runs it. */
const nameParam = "taskId"

/** The type of a result that is a task. */
export const resultType = "task"

export const TasksExtension = Extension.make("io.modelcontextprotocol/tasks", {
  description: "Calls of tools that outlive their request. To a client without it a tool answers within the request.",
  revisions: ["2026-07-28"],
  requests: {
    get: Extension.request("tasks/get", { params, result: Wire2026.DetailedTask, nameParam, readOnly: true }),
    update: Extension.request("tasks/update", {
      params: { ...params, inputResponses: Schema.Record(Schema.String, JsonObject) },
      nameParam,
      mayAsk: false
    }),
    cancel: Extension.request("tasks/cancel", { params, nameParam })
  },
  notifications: {
    changed: Extension.notification("notifications/tasks", { from: "server", params: Wire2026.DetailedTask })
  },
  subscriptions: { taskIds: Extension.subscription("taskIds", Schema.Array(Schema.String)) }
})
