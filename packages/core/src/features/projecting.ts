/**
 * Projects tools that another server lists, so that every host can use them, and restores the arguments of their calls.
 *
 * The rules are only loaded if a tool needs them.
 */
import { isPlainlyPortable } from "@effect-mcp/protocol/internal/toolSchema"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import { lateImport } from "../internal/lateImport.ts"
import type { ToolSource } from "./Tools.ts"

const rules = lateImport(() => import("@effect-mcp/protocol/Portability"))

/** Restores the argument names of a tool's own schema. */
export type Original = (args: JsonObject) => JsonObject

/** A projected tool, or the tool itself if it needs no change. */
export interface ProjectedTool {
  readonly tool: Tool
  readonly original: Original
}

/** The arguments of a tool that is listed as it is. */
export const unchanged: Original = (args) => args

const isPlain = ({ description, inputSchema, name, outputSchema }: Tool): boolean =>
  isPlainlyPortable({ name, description, inputSchema, outputSchema })

/** Projects listed tools, in order. */
export const projected = (tools: ReadonlyArray<Tool>): Effect.Effect<ReadonlyArray<ProjectedTool>> =>
  tools.every(isPlain)
    ? Effect.succeed(tools.map((tool) => ({ tool, original: unchanged })))
    : Effect.map(Effect.promise(rules), ({ portable }) =>
        tools.map((tool) => (isPlain(tool) ? { tool, original: unchanged } : portable(tool)))
      )

/** Maximum number of tools with other argument names to remember. */
const maxOriginals = 10_000

/** The argument names of listed tools. Lists that differ between callers add to each other. */
export class Originals {
  private readonly renamed = new Map<string, Original>()
  private isListed = false

  /** Projects named tools, and remembers how to restore the arguments of their calls. */
  project<A extends { readonly name: string }>(
    items: ReadonlyArray<A>,
    toolOf: (item: A) => Tool,
    withTool: (item: A, tool: Tool) => A
  ): Effect.Effect<ReadonlyArray<A>> {
    return Effect.map(projected(items.map(toolOf)), (all) => {
      this.isListed = true
      return items.map((item, index) => {
        const { original = unchanged, tool = toolOf(item) } = all[index] ?? {}
        this.renamed.delete(item.name)
        if (original !== unchanged) this.remember(item.name, original)
        return withTool(item, tool)
      })
    })
  }

  private remember(name: string, original: Original): void {
    if (this.renamed.size >= maxOriginals) this.renamed.clear()
    this.renamed.set(name, original)
  }

  /** Returns a call's arguments with the names of the tool's own schema. Runs `list` first if nothing was listed, such as after a restart. */
  restore<E, R>(
    name: string,
    args: JsonObject,
    list: Effect.Effect<unknown, E, R>
  ): Effect.Effect<JsonObject, never, R> {
    const restored = Effect.sync(() => this.renamed.get(name)?.(args) ?? args)
    return this.isListed ? restored : Effect.andThen(Effect.ignore(list), restored)
  }
}

/** Projects the tools of a source. */
export const projectedSource = (source: ToolSource): ToolSource => {
  const originals = new Originals()
  const list = Effect.flatMap(source.list, (tools) =>
    originals.project(
      tools,
      (tool) => tool,
      (_, tool) => tool
    )
  )
  return {
    list,
    call: (params) => {
      const { arguments: args, name } = params
      const call = source.call(params)
      if (call === undefined || args === undefined) return call
      return Effect.flatMap(originals.restore(name, args, list), (restored) =>
        restored === args ? call : (source.call({ ...params, arguments: restored }) ?? call)
      )
    },
    changes: source.changes
  }
}
