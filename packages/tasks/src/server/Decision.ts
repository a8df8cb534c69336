/** Decides whether a call becomes a task, based on its tool, its params, and its client's capabilities. Nothing else decides this. */
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
import type { Handles } from "./Handles.ts"

type Request = Pick<RequestContext["Service"], "clientCapabilities" | "revision">

/** Which task methods the client uses: those defined in 2025-11-25, or the 2026-07-28 extension. */
export type TaskMethods = "core" | "extension"

/** Returns which task methods the request's client supports, or `undefined` if it supports neither. */
export const taskMethodsOf = ({ clientCapabilities, revision }: Request): TaskMethods | undefined => {
  if (Extension.isIn(CoreTasks, revision)) return "core"
  return Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined ? undefined : "extension"
}

/**
 * True if the client follows tasks by itself, so that it needs no handles. In 2025-11-25 only the `task` param of a call shows that for
 * certain, so there it is a client that declares `tasks`.
 */
export const followsTasks = (request: Request): boolean => {
  const methods = taskMethodsOf(request)
  return methods === "core" ? request.clientCapabilities.tasks !== undefined : methods !== undefined
}

const TaskParams = Schema.Struct({ ttl: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })
type TaskParams = typeof TaskParams.Type
const taskParams = Codecs.coder(verbatim(TaskParams))

/** Returns the `task` param of a 2025-11-25 call, or `undefined` if it has none. Fails if it is malformed. */
export const taskParamsOf = (params: object): Effect.Effect<TaskParams | undefined, McpError.McpError> =>
  "task" in params
    ? Effect.mapErrorEager(taskParams.decode(params.task), (message) =>
        McpError.invalidParams(`Invalid task: ${message}`)
      )
    : Effect.undefined

const refused = (message: string) => new McpError.McpError({ code: McpError.MethodNotFound, message })

/** Error for a call to a tool that only runs as a task, from a client that doesn't support tasks. */
export const taskRequired = (name: string, { revision }: Request): McpError.McpError => {
  if (Extension.isIn(TasksExtension, revision)) {
    return McpError.missingClientCapability(Extension.declarationOf(TasksExtension, revision, {}))
  }
  return refused(
    `The tool ${name} only runs as a task, and this server does not support tasks in revision ${revision.version}`
  )
}

/** Error for a call that requests a task from a tool that only runs within its request (2025-11-25). */
export const asksInVain = (name: string): McpError.McpError =>
  refused(`The tool ${name} cannot run as a task. Call it without the \`task\` param`)

/** How to handle a call. */
export type CallDecision =
  /** Respond within the request. */
  | { readonly _tag: "Request" }
  /** Turn it into a task, or only if it is still running `after` some time. */
  | {
      readonly _tag: "Task"
      readonly methods: TaskMethods
      /** How long the client wants the task to be kept, in milliseconds. `null` requests the maximum. */
      readonly ttl?: number | null | undefined
      readonly after?: ToolEntry["taskAfter"]
    }
  /** Run it as a task, and respond with a handle if it takes too long. */
  | { readonly _tag: "Handle"; readonly handles: Handles }
  /** Turn it into a task when its handler says so. */
  | { readonly _tag: "WhenBegun"; readonly as: { readonly methods: TaskMethods } | { readonly handles: Handles } }

const inRequest: Effect.Effect<CallDecision> = Effect.succeed({ _tag: "Request" })

const handled = (handles: Handles, beginsTask: boolean | undefined): Effect.Effect<CallDecision> =>
  Effect.succeed(beginsTask === true ? { _tag: "WhenBegun", as: { handles } } : { _tag: "Handle", handles })

/**
 * In 2025-11-25 the client decides, as far as the tool allows it. Since 2026-07-28 the server decides, for clients that support the
 * extension. Other clients receive handles, if the server offers them.
 */
export const decide = (
  { beginsTask, taskAfter, tool }: Pick<ToolEntry, "beginsTask" | "taskAfter" | "tool">,
  params: CallToolParams,
  request: Request,
  offered?: Handles
): Effect.Effect<CallDecision, McpError.McpError> => {
  const { name } = params
  const support = tool.execution?.taskSupport ?? "forbidden"
  const methods = taskMethodsOf(request)
  const handles = offered === undefined || support === "forbidden" || followsTasks(request) ? undefined : offered
  if (methods === "core") {
    return Effect.flatMap(taskParamsOf(params), (task): Effect.Effect<CallDecision, McpError.McpError> => {
      if (task !== undefined) {
        return support === "forbidden" ? asksInVain(name) : Effect.succeed({ _tag: "Task", methods, ttl: task.ttl })
      }
      if (handles !== undefined) return handled(handles, beginsTask)
      return support === "required"
        ? refused(`The tool ${name} only runs as a task. Call it with the \`task\` param`)
        : inRequest
    })
  }
  if (support === "forbidden") return inRequest
  if (handles !== undefined) return handled(handles, beginsTask)
  if (methods === undefined) return support === "optional" ? inRequest : taskRequired(name, request)
  if (beginsTask === true) return Effect.succeed({ _tag: "WhenBegun", as: { methods } })
  return Effect.succeed({ _tag: "Task", methods, after: support === "required" ? undefined : taskAfter })
}
