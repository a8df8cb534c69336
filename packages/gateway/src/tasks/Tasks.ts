/**
 * Tasks through the gateway: a task of the upstream server becomes one of the gateway's own where its caller can have tasks, of either
 * generation. For any other caller it is followed to its end.
 *
 * Owns which call becomes what. The gateway's task has its own id and owner; its handler is the call that follows the upstream task.
 */
import type { McpClient } from "@effect-mcp/client/McpClient"
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolParams, ListToolsResult, Tool, ToolExecution } from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as TaskMaker from "@effect-mcp/tasks/internal/TaskMaker"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

const { CoreTasks, TasksExtension } = TaskMaker

export type Support = NonNullable<ToolExecution["taskSupport"]>

type Client = Pick<McpClient["Service"], "revision" | "serverCapabilities">

/** How a server makes tasks of calls: as the core of 2025-11-25, by the extension, or not at all. */
export type TaskGeneration = "core" | "extension" | "none"

export const generationOf = ({ revision, serverCapabilities }: Client): TaskGeneration => {
  if (Extension.settingsIn(TasksExtension, revision, serverCapabilities) !== undefined) return "extension"
  const requests = Extension.settingsIn(CoreTasks, revision, serverCapabilities)?.["requests"]
  return isJsonObject(requests) && isJsonObject(requests.tools) && isJsonObject(requests.tools.call) ? "core" : "none"
}

/**
 * Whether calls of the client may become tasks of the upstream server. One of a revision without the extension cannot declare it: its calls
 * are followed to their end.
 */
export const mayHave = ({ capabilities, revision }: ClientDeclaration): boolean =>
  !Extension.isIn(TasksExtension, revision) ||
  Extension.settingsIn(TasksExtension, revision, capabilities) !== undefined

/** The capabilities that a caller is told: those relayed, with the gateway's own tasks where the upstream server has some. */
export const offered = (relayed: ServerCapabilities, client: Client, own: ServerCapabilities): ServerCapabilities => {
  if (generationOf(client) === "none") return relayed
  const settings = own.extensions?.[TasksExtension.id]
  return {
    ...relayed,
    ...(own.tasks === undefined ? undefined : { tasks: own.tasks }),
    ...(settings === undefined ? undefined : { extensions: { ...relayed.extensions, [TasksExtension.id]: settings } })
  }
}

const optional = (tool: Tool): Tool => ({ ...tool, execution: { ...tool.execution, taskSupport: "optional" } })

/** The tools as a caller lists them: for 2025-11-25 any call to a server of the extension may be a task. */
export const listed = (result: ListToolsResult, client: Client, caller: Revision): ListToolsResult =>
  generationOf(client) === "extension" && Extension.isIn(CoreTasks, caller)
    ? { ...result, tools: result.tools.map(optional) }
    : result

/** What a call of a tool becomes: a request, a task at once, or whichever the upstream server makes of it. */
export type Fate = "request" | "task" | "either"

/** The upstream server, as far as the fate of a call needs it. */
interface Upstream {
  readonly generation: TaskGeneration
  readonly taskSupport: (tool: string) => Effect.Effect<Support, McpError.McpError, Scope.Scope>
}

/** Fails where a tool and the call disagree on tasks. */
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

/** The methods of tasks; they do not exist once the upstream server is known to have none. */
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
