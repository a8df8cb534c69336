/** Tools from mounted sources. */
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import type { ToolEntry, ToolRegistry, ToolSource } from "@effect-mcp/core/Tools"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import { mount } from "./mounting.ts"
import { type Registry, uniqueBy } from "./Registry.ts"
import { SourceOwners } from "./SourceOwners.ts"

const prefixed = (source: ToolSource, prefix: string): ToolSource => ({
  list: Effect.map(source.list, (tools) => tools.map((tool) => ({ ...tool, name: prefix + tool.name }))),
  call: (params) =>
    params.name.startsWith(prefix) ? source.call({ ...params, name: params.name.slice(prefix.length) }) : undefined,
  changes: source.changes
})

export class MountedTools {
  private readonly registry: Registry<ToolEntry, ToolSource>
  private readonly owners: SourceOwners<ToolSource>

  constructor(registry: Registry<ToolEntry, ToolSource>) {
    this.registry = registry
    this.owners = new SourceOwners(registry)
  }

  readonly mount: ToolRegistry["Service"]["mount"] = (source, options) =>
    mount(this.registry, options?.prefix === undefined ? source : prefixed(source, options.prefix))

  /** Appends the sources' tools to the server's own. If several tools have the same name, the first one wins. */
  after(own: ReadonlyArray<Tool>): Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, QueryServices> {
    return Effect.map(
      Effect.forEach(this.registry.sources, (source) => source.list, { concurrency: "unbounded" }),
      (mounted) => uniqueBy([own, ...mounted].flat(), (tool: Tool) => tool.name)
    )
  }

  readonly call: ToolSource["call"] = (params) =>
    this.owners.choose(
      params.name,
      (source) => source.call(params),
      (source) => Effect.map(source.list, (tools) => ({ names: new Set(tools.map(({ name }) => name)) }))
    )
}
