/**
 * Forwards tasks through the gateway. If the caller supports tasks of either generation, the upstream server's task becomes one of the
 * gateway's tasks. Otherwise, the gateway follows the task until it ends.
 *
 * Also decides whether each call becomes a task. The gateway's task has a separate ID and owner, and its handler is the call that follows
 * the upstream task.
 */
import type { McpClient } from "@effect-mcp/client/McpClient"
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolParams, Tool, ToolExecution } from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as TaskMaker from "@effect-mcp/tasks/internal/TaskMaker"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

const { CoreTasks, TasksExtension } = TaskMaker

export type Support = NonNullable<ToolExecution["taskSupport"]>

type Client = Pick<McpClient["Service"], "revision" | "serverCapabilities">

/** How a server turns calls into tasks: as the core of 2025-11-25, with the extension, or not at all. */
export type TaskGeneration = "core" | "extension" | "none"

export const generationOf = ({ revision, serverCapabilities }: Client): TaskGeneration => {
  if (Extension.settingsIn(TasksExtension, revision, serverCapabilities) !== undefined) return "extension"
  const requests = Extension.settingsIn(CoreTasks, revision, serverCapabilities)?.["requests"]
  return isJsonObject(requests) && isJsonObject(requests.tools) && isJsonObject(requests.tools.call) ? "core" : "none"
}

/**
 * True if the client's calls may become tasks on the upstream server. A client whose revision lacks the extension cannot declare it, so its
 * calls are followed to their end.
 */
export const mayHave = ({ capabilities, revision }: ClientDeclaration): boolean =>
  !Extension.isIn(TasksExtension, revision) ||
  Extension.settingsIn(TasksExtension, revision, capabilities) !== undefined

/** Returns the capabilities that a caller sees: the forwarded ones, plus the gateway's own tasks if the upstream server has tasks. */
export const offered = (relayed: ServerCapabilities, client: Client, own: ServerCapabilities): ServerCapabilities => {
  if (generationOf(client) === "none") return relayed
  const settings = own.extensions?.[TasksExtension.id]
  return {
    ...relayed,
    ...(own.tasks === undefined ? undefined : { tasks: own.tasks }),
    ...(settings === undefined ? undefined : { extensions: { ...relayed.extensions, [TasksExtension.id]: settings } })
  }
}

type ToolList = ClientRequests["tools/list"]["result"]

const optional = (tool: Tool): Tool => ({ ...tool, execution: { ...tool.execution, taskSupport: "optional" } })

/** Returns the tools as listed for a caller. In 2025-11-25, every call to a server with the extension may be a task. */
export const listed = (result: ToolList, client: Client, caller: Revision): ToolList =>
  generationOf(client) === "extension" && Extension.isIn(CoreTasks, caller)
    ? { ...result, tools: result.tools.map(optional) }
    : result

/** Outcome of a tool call: a request, a task from the start, or whichever the upstream server chooses. */
export type Fate = "request" | "task" | "either"

/** Facts about the upstream server that decide how a call is handled. */
interface Upstream {
  readonly generation: TaskGeneration
  readonly taskSupport: (tool: string) => Effect.Effect<Support, McpError.McpError, Scope.Scope>
}

/** Decides how a call is handled. Fails if the tool and the call disagree on tasks. */
export const fateOf = (
  maker: TaskMaker.TaskMaker,
  { generation, taskSupport }: Upstream,
  params: CallToolParams
): Effect.Effect<Fate, McpError.McpError, RequestContext | Scope.Scope> =>
  Effect.gen(function* () {
    if (generation === "none") return "request"
    const context = yield* RequestContext
    const taken = yield* maker.taken(params)
    if (generation === "extension") {
      if (taken === undefined) return "request"
      return taken === "asked" ? "task" : "either"
    }
    if (taken === undefined && !Extension.isIn(TasksExtension, context.revision)) return "request"
    const support = yield* taskSupport(params.name)
    if (taken === undefined) {
      return support === "required" ? yield* TaskMaker.taskRequired(params.name, context) : "request"
    }
    if (support !== "forbidden") return "task"
    return taken === "asked" ? yield* TaskMaker.asksInVain(params.name) : "request"
  })

/** The task methods. They do not exist once the upstream server is known to have no tasks. */
export const methods = (
  maker: TaskMaker.TaskMaker,
  generation: () => TaskGeneration | undefined
): Layer.Layer<never, never, ExtensionRegistry> => {
  const known = Layer.effect(
    ExtensionRegistry,
    Effect.map(ExtensionRegistry, ({ register }) => ({
      register: (entry) => register({ ...entry, offered: (caller) => generation() !== "none" && entry.offered(caller) })
    }))
  )
  return Layer.provide(maker.methods, known)
}
