/**
 * Adapts tool lists to the caller's support for tasks.
 *
 * Tools that only run as tasks are hidden from callers without tasks. If the server offers handles, such callers see these tools, and the
 * tools that follow tasks, which are hidden from all others.
 */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import { followsTasks, taskMethodsOf } from "./Decision.ts"
import { asksModel } from "./HandledCall.ts"
import type { Handles } from "./Handles.ts"

const isRequired = (tool: Tool | undefined): boolean => tool?.execution?.taskSupport === "required"

/** The tool as a caller without tasks sees it. Its result may be a handle, which its output schema doesn't allow. */
const withHandle = ({ execution, outputSchema: _schema, ...tool }: Tool): Tool => ({
  ...tool,
  ...(execution === undefined ? undefined : { execution: { ...execution, taskSupport: "optional" } })
})

type Request = RequestContext["Service"]
type Registered = (name: string) => Tool | undefined

/** Returns the tools to list to a caller if the server offers handles. */
const listedWith = (
  handles: Handles,
  tools: ReadonlyArray<Tool>,
  request: Request,
  { find, names }: { readonly find: Registered; readonly names: ReadonlyArray<string> }
): ReadonlyArray<Tool> => {
  const { answer, ...others } = handles.names
  const isTask = new Set(names.filter((name) => find(name) !== undefined))
  const offered = isTask.size > 0 && !followsTasks(request)
  const following = new Set(offered ? [...Object.values(others), ...(asksModel(handles, request) ? [answer] : [])] : [])
  const own = new Set(Object.values(handles.names))
  return tools.flatMap((tool) => {
    if (own.has(tool.name)) return following.has(tool.name) ? [tool] : []
    return [offered && isTask.has(tool.name) ? withHandle(tool) : tool]
  })
}

/** Middleware around tool lists. */
export const middleware =
  (registry: ToolRegistry["Service"], handles?: Handles): Middleware.Middleware =>
  (request, next) =>
    request.method !== "tools/list"
      ? next
      : Effect.gen(function* () {
          const list = yield* next
          if (isEncodedResult(list) || !("tools" in list)) return list
          const request = yield* RequestContext
          const principal = yield* Principal
          const find: Registered = (name) => registry.find(name, principal)?.tool
          const names = registry.taskTools()
          const adapted = handles === undefined ? list.tools : listedWith(handles, list.tools, request, { find, names })
          const mayHaveTasks = taskMethodsOf(request) !== undefined
          const isHidden = (tool: Tool) => isRequired(tool) && !mayHaveTasks
          const tools = adapted.some(isHidden) ? adapted.filter((tool) => !isHidden(tool)) : adapted
          const varies = handles !== undefined || names.some((name) => isRequired(find(name)))
          if (!varies && tools.length === list.tools.length) return list
          // The list depends on the client's capabilities, so no cache may share any of its pages.
          return { ...list, tools, ...(varies ? { cacheScope: "private" as const } : undefined) }
        })
