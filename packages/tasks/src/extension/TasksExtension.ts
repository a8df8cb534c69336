/**
 * The `io.modelcontextprotocol/tasks` extension (since 2026-07-28). A tool call may return a task, which the client reads, answers and
 * cancels in separate requests. The client and the server share this value.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"
import * as Wire2026 from "../model/Wire2026.ts"

const params = { taskId: Schema.String }
/** Requests about a task name it in a header, so that a proxy can route them to the node running it. */
const nameParam = "taskId"

/** The `resultType` of a task. */
export const resultType = "task"

export const TasksExtension = Extension.make("io.modelcontextprotocol/tasks", {
  description:
    "Tool calls that outlive their request. For clients without this extension, tools answer within the request.",
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
