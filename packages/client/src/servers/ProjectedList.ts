/** Projects the tools of a merged list, and restores the arguments of their calls. */
import { Originals } from "@effect-mcp/core/internal/projecting"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type { MergedItem, MergedList } from "./MergedList.ts"
import type { NameClash } from "./Names.ts"

/** A merged list's tools as a host sees them. */
export interface ProjectedList {
  readonly list: Effect.Effect<ReadonlyArray<MergedItem<Tool>>, NameClash>
  /** Returns the arguments of a call with the names of its tool's own schema. */
  readonly args: (name: string, args: JsonObject | undefined) => Effect.Effect<JsonObject | undefined>
}

export const make = ({ list }: MergedList<Tool>, portability: "project" | "off"): ProjectedList => {
  if (portability === "off") return { list, args: (_, args) => Effect.succeed(args) }
  const originals = new Originals()
  const projected = Effect.flatMap(list, (items) =>
    originals.project(
      items,
      ({ item }) => item,
      (listed, item) => ({ ...listed, item })
    )
  )
  return {
    list: projected,
    args: (name, args) => (args === undefined ? Effect.undefined : originals.restore(name, args, projected))
  }
}
