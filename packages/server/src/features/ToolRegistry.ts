/** The server's tools: those of feature layers and of mounted sources. A name of both is the server's own; see `SourceOwners`. */
import type { Principal } from "@effect-mcp/core/Principal"
import { deferred, type HandledRequest } from "@effect-mcp/core/internal/HandlerContext"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { type CallLimits, type ToolEntry, ToolRegistry, type ToolSource } from "@effect-mcp/core/Tools"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams, CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { MountedTools } from "./MountedTools.ts"
import { type Changing, isRestricted, listOf, Registry } from "./Registry.ts"
import * as ToolLimits from "./ToolLimits.ts"

const mayBeTask = (entry: ToolEntry | undefined): boolean =>
  (entry?.tool.execution?.taskSupport ?? "forbidden") !== "forbidden"

/** Called for each list, and the same until the registry changes. */
const mayNeedTask = (registry: Registry<ToolEntry, ToolSource>): (() => boolean) => {
  let version = -1
  let known = false
  const needs = ({ tool }: ToolEntry): boolean => tool.execution?.taskSupport === "required"
  return () => {
    if (version !== registry.version) known = registry.sources.length > 0 || registry.entries.some(needs)
    version = registry.version
    return known
  }
}

/** The error for a name that is not registered, or not visible to the caller. */
export const unknownTool = (name: string): McpError.McpError => McpError.invalidParams(`Unknown tool: ${excerpt(name)}`)

export interface ToolSet extends Changing {
  /** The tools that the caller of `request` sees. */
  readonly list: (request: HandledRequest) => Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, QueryServices>
  /** The effect that calls a tool; made when it is about to run. */
  readonly call: (
    params: CallToolParams,
    request?: HandledRequest
  ) => Effect.Effect<CallToolResult, McpError.McpError, RequestServices>
  readonly isEmpty: () => boolean
  /** Whether the list may depend on its caller. */
  readonly isRestricted: () => boolean
  /** The arguments of one of the server's own tools that travel in headers too; none where the caller sees no such tool. */
  readonly headerParams: (name: unknown, principal: Principal["Service"]) => ReadonlyArray<HeaderParams.HeaderParam>
}

/**
 * Makes a new registry: the service for feature layers, and the set that the dispatcher reads. `limits` apply to tools without limits of
 * their own.
 */
export const make = (
  limits?: CallLimits
): Effect.Effect<{ readonly tools: ToolSet; readonly context: Context.Context<ToolRegistry> }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry = yield* Registry.make<ToolEntry, ToolSource>("tool")
    const limited = yield* ToolLimits.make(limits)
    const visible = (entry: ToolEntry, principal: Principal["Service"]) => entry.visible?.(principal) !== false
    const descriptors = listOf((entry: ToolEntry) => entry.tool)
    const visibleTo = (
      principal: Principal["Service"]
    ): Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, QueryServices> => {
      const own = descriptors(registry.view((entry) => visible(entry, principal)))
      return registry.sources.length === 0 ? Effect.succeed(own) : mounted.after(own)
    }
    const mounted = new MountedTools(registry)
    const call: ToolSet["call"] = (params, request = deferred) => {
      const { name } = params
      const elsewhere = () => mounted.call(params) ?? Effect.fail(unknownTool(name))
      return request.withCaller((principal) =>
        registry.hold(
          name,
          (entry) => (visible(entry, principal) ? entry.call(params, request) : elsewhere()),
          elsewhere,
          request
        )
      )
    }
    const annotated = new WeakMap<ToolEntry, ReadonlyArray<HeaderParams.HeaderParam>>()
    const find = (name: string, principal: Principal["Service"]): ToolEntry | undefined => {
      const entry = registry.get(name)
      return entry !== undefined && visible(entry, principal) ? entry : undefined
    }
    const headerParams: ToolSet["headerParams"] = (name, principal) => {
      const entry = typeof name === "string" ? find(name, principal) : undefined
      if (entry === undefined) return []
      const params = annotated.get(entry) ?? HeaderParams.parse(entry.tool.inputSchema).params
      annotated.set(entry, params)
      return params
    }
    const tools: ToolSet = {
      list: (request) => request.withCaller(visibleTo),
      call,
      headerParams,
      listen: registry.listen,
      isEmpty: () => registry.isEmpty,
      isRestricted: () => isRestricted(registry)
    }
    return {
      tools,
      context: Context.make(ToolRegistry, {
        register: (entry) => registry.register(entry.tool.name, limited(entry)),
        find,
        call,
        taskTools: () => registry.entries.flatMap((entry) => (mayBeTask(entry) ? [entry.tool.name] : [])),
        mayBeTask: (name) => mayBeTask(registry.get(name)),
        mayNeedTask: mayNeedTask(registry),
        mount: mounted.mount
      })
    }
  })
