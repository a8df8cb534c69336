/**
 * The server's tools, from feature layers and mounted sources. If both have a tool with the same name, the server's own
 * tool takes precedence; see `SourceOwners`.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import { deferred, type HandledRequest } from "@effect-mcp/core/internal/handlers"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { type CallLimits, type ToolEntry, ToolRegistry, type ToolSource } from "@effect-mcp/core/Tools"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams, CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type * as Scope from "effect/Scope"
import { mount } from "./mounting.ts"
import { AddedMeta } from "./AddedMeta.ts"
import { Portability } from "./Portability.ts"
import { type Changing, isRestricted, Registry, sees, uniqueBy } from "./Registry.ts"
import { SourceOwners } from "./SourceOwners.ts"
import * as ToolLimits from "./ToolLimits.ts"

const prefixed = (source: ToolSource, prefix: string): ToolSource => ({
  list: Effect.map(source.list, (tools) => tools.map((tool) => ({ ...tool, name: prefix + tool.name }))),
  call: (params) =>
    params.name.startsWith(prefix) ? source.call({ ...params, name: params.name.slice(prefix.length) }) : undefined,
  changes: source.changes
})

/** Calls a tool of the source that owns its name. */
const mountedCall = (registry: Registry<ToolEntry, ToolSource>): ToolSource["call"] => {
  const owners = new SourceOwners<ToolSource>(registry)
  return (params) =>
    owners.choose(
      params.name,
      (source) => source.call(params),
      ({ list }) => Effect.map(list, (tools) => ({ names: new Set(tools.map(({ name }) => name)) }))
    )
}

const mayBeTask = (entry: ToolEntry | undefined): boolean =>
  (entry?.tool.execution?.taskSupport ?? "forbidden") !== "forbidden"

/** Called for each list. The answer is cached until the registry changes. */
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

export interface ToolSet extends Changing {
  /** Lists the tools that the caller of `request` sees. */
  readonly list: (request: HandledRequest) => Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, QueryServices>
  /** Creates the effect that calls a tool, just before it runs. */
  readonly call: (
    params: CallToolParams,
    request?: HandledRequest
  ) => Effect.Effect<CallToolResult, McpError.McpError, RequestServices>
  readonly isEmpty: () => boolean
  /** True if the list may depend on the caller. */
  readonly isRestricted: () => boolean
  /** Returns the arguments of one of the server's own tools that are also sent as headers. Empty if the caller sees no such tool. */
  readonly headerParams: (name: unknown, principal: Principal["Service"]) => ReadonlyArray<HeaderParams.HeaderParam>
}

/**
 * Creates a registry: the service for feature layers, and the set that the dispatcher reads. `limits` apply to tools that set no limits.
 */
export const make = (
  limits?: CallLimits,
  around?: ToolLimits.Environment,
  portability: Portability = new Portability()
): Effect.Effect<{ readonly tools: ToolSet; readonly context: Context.Context<ToolRegistry> }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry = yield* Registry.make<ToolEntry, ToolSource>("tool")
    const limited = yield* ToolLimits.make(limits, around)
    const added = new AddedMeta(registry.changed)
    // Returns the same array for the same view, so that its text is encoded once.
    const descriptors = memoize((view: ReadonlyArray<ToolEntry>): ReadonlyArray<Tool> =>
      view.map(({ tool }) => added.of(tool))
    )
    const visibleTo = (
      principal: Principal["Service"]
    ): Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, QueryServices> => {
      const own = descriptors(registry.view((entry) => sees(entry, principal)))
      if (registry.sources.length === 0) return Effect.succeed(own)
      return Effect.map(
        Effect.forEach(registry.sources, ({ list }) => list, { concurrency: "unbounded" }),
        (mounted) => uniqueBy([own, ...mounted].flat(), (tool) => tool.name)
      )
    }
    const callMounted = mountedCall(registry)
    const call: ToolSet["call"] = (params, request = deferred) => {
      const { name } = params
      const elsewhere = () => callMounted(params) ?? Effect.fail(McpError.unknownTool(name))
      return request.withCaller((principal) =>
        registry.hold(
          name,
          (entry) => (sees(entry, principal) ? entry.call(params, request) : elsewhere()),
          elsewhere,
          request
        )
      )
    }
    const paramsOf = memoize(({ tool }: ToolEntry) => HeaderParams.parse(tool.inputSchema).params)
    const find = (name: string, principal: Principal["Service"]): ToolEntry | undefined => {
      const entry = registry.get(name)
      return entry !== undefined && sees(entry, principal) ? entry : undefined
    }
    const headerParams: ToolSet["headerParams"] = (name, principal) => {
      const entry = typeof name === "string" ? find(name, principal) : undefined
      return entry === undefined ? [] : paramsOf(entry)
    }
    const settle = Effect.andThen(portability.settle, registry.changed)
    const tools: ToolSet = {
      list: (request) =>
        portability.isSettled
          ? request.withCaller(visibleTo)
          : Effect.andThen(
              settle,
              Effect.suspend(() => request.withCaller(visibleTo))
            ),
      call,
      headerParams,
      listen: registry.listen,
      isEmpty: () => registry.isEmpty,
      isRestricted: () => isRestricted(registry)
    }
    return {
      tools,
      context: Context.make(ToolRegistry, {
        register: (entry) => {
          const bounded = limited(entry)
          const registered = registry.register(entry.tool.name, bounded)
          const prepared = portability.admit(bounded)
          return prepared === undefined ? registered : Effect.andThen(prepared, registered)
        },
        annotate: added.add,
        find,
        call,
        taskTools: () => registry.entries.flatMap((entry) => (mayBeTask(entry) ? [entry.tool.name] : [])),
        mayBeTask: (name) => mayBeTask(registry.get(name)),
        mayNeedTask: mayNeedTask(registry),
        mount: (source, options) =>
          mount(registry, portability.source(options?.prefix === undefined ? source : prefixed(source, options.prefix)))
      })
    }
  })
