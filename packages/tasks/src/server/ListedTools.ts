/** Tools that run only as tasks are listed for callers that can have tasks. */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import { taskMethodsOf } from "./Decision.ts"

const isRequired = (tool: Tool | undefined): boolean => tool?.execution?.taskSupport === "required"

/** The middleware around lists of tools. */
export const middleware =
  (registry: ToolRegistry["Service"]): Middleware.Middleware =>
  (request, next) =>
    request.method !== "tools/list"
      ? next
      : Effect.gen(function* () {
          const list = yield* next
          if (isEncodedResult(list) || !("tools" in list)) return list
          const mayHaveTasks = taskMethodsOf(yield* RequestContext) !== undefined
          const tools = mayHaveTasks ? list.tools : list.tools.filter((tool) => !isRequired(tool))
          const principal = yield* Principal
          const varies = registry.taskTools().some((name) => isRequired(registry.find(name, principal)?.tool))
          if (!varies && tools.length === list.tools.length) return list
          // What one client declared says nothing of the next, so no cache may share any page of the list.
          return { ...list, tools, ...(varies ? { cacheScope: "private" as const } : undefined) }
        })
