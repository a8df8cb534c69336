/** Whether a call may be a task: the one place that decides, by its tool, its params and what its client declared. */
import * as Extension from "@effect-mcp/core/Extension"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ToolEntry } from "@effect-mcp/core/Tools"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verbatim } from "@effect-mcp/protocol/model/Shape"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CoreTasks } from "../extension/CoreTasks.ts"
import { TasksExtension } from "../extension/TasksExtension.ts"

type Request = Pick<RequestContext["Service"], "clientCapabilities" | "revision">

/** The form of tasks of a client: the methods of 2025-11-25, or the extension of 2026-07-28. */
export type TaskMethods = "core" | "extension"

/** The form of tasks that the client of a request can have, or `undefined` if it can have none. */
export const taskMethodsOf = ({ clientCapabilities, revision }: Request): TaskMethods | undefined => {
  if (Extension.isIn(CoreTasks, revision)) return "core"
  return Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined ? undefined : "extension"
}

const TaskParams = Schema.Struct({ ttl: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })
type TaskParams = typeof TaskParams.Type
const taskParams = Codecs.coder(verbatim(TaskParams))

/** The `task` of a call of 2025-11-25, or `undefined` if it asks for none. Fails if it is malformed. */
export const taskParamsOf = (params: object): Effect.Effect<TaskParams | undefined, McpError.McpError> =>
  "task" in params
    ? Effect.mapErrorEager(taskParams.decode(params.task), (message) =>
        McpError.invalidParams(`Invalid task: ${message}`)
      )
    : Effect.undefined

const refused = (message: string) => new McpError.McpError({ code: McpError.MethodNotFound, message })

/** The error for a tool that runs only as a task, to a client that can have none. */
export const taskRequired = (name: string, { revision }: Request): McpError.McpError => {
  if (Extension.isIn(TasksExtension, revision)) {
    return McpError.missingClientCapability(Extension.declarationOf(TasksExtension, revision, {}))
  }
  return refused(
    `The tool ${name} runs only as a task, which this server does not offer in revision ${revision.version}`
  )
}

/** The error for a call that asks for a task of a tool that runs within its request (2025-11-25). */
export const asksInVain = (name: string): McpError.McpError =>
  refused(`The tool ${name} does not run as a task: call it without \`task\` in the params`)

/** What becomes of a call. */
export type CallDecision =
  /** It is answered within its request. */
  | { readonly _tag: "Request" }
  /** It becomes a task, or one only if it has not ended `after` a time. */
  | {
      readonly _tag: "Task"
      readonly methods: TaskMethods
      /** How long its client wants the task to be kept, in milliseconds. `null` asks for the longest time. */
      readonly ttl?: number | null | undefined
      readonly after?: ToolEntry["taskAfter"]
    }
  /** It becomes a task when its handler says so. */
  | { readonly _tag: "WhenBegun"; readonly methods: TaskMethods }

const inRequest: Effect.Effect<CallDecision> = Effect.succeed({ _tag: "Request" })

/** In 2025-11-25 the client decides within what the tool allows; from 2026-07-28 on the server decides for clients with the extension. */
export const decide = (
  { beginsTask, taskAfter, tool }: Pick<ToolEntry, "beginsTask" | "taskAfter" | "tool">,
  params: CallToolParams,
  request: Request
): Effect.Effect<CallDecision, McpError.McpError> => {
  const { name } = params
  const support = tool.execution?.taskSupport ?? "forbidden"
  const methods = taskMethodsOf(request)
  if (methods === "core") {
    return Effect.flatMap(taskParamsOf(params), (task): Effect.Effect<CallDecision, McpError.McpError> => {
      if (task !== undefined) {
        return support === "forbidden" ? asksInVain(name) : Effect.succeed({ _tag: "Task", methods, ttl: task.ttl })
      }
      return support === "required"
        ? refused(`The tool ${name} runs only as a task: call it with \`task\` in the params`)
        : inRequest
    })
  }
  if (support === "forbidden") return inRequest
  if (methods === undefined) return support === "optional" ? inRequest : taskRequired(name, request)
  if (beginsTask === true) return Effect.succeed({ _tag: "WhenBegun", methods })
  return Effect.succeed({ _tag: "Task", methods, after: support === "required" ? undefined : taskAfter })
}
