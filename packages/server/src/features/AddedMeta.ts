/** `_meta` entries that extensions add to the descriptors of the server's own tools. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class AddedMeta {
  private readonly byName = new Map<string, Map<string, unknown>>()
  private readonly changed: Effect.Effect<void>

  /** `changed` announces a change to the list. */
  constructor(changed: Effect.Effect<void>) {
    this.changed = changed
  }

  /** Returns the tool with its annotations. A tool without annotations is returned unchanged. */
  of(tool: Tool): Tool {
    const added = this.byName.get(tool.name)
    return added === undefined ? tool : { ...tool, _meta: { ...tool._meta, ...Object.fromEntries(added) } }
  }

  /** Adds entries for the lifetime of the scope. A key that the tool is already annotated with is a defect. */
  readonly add = (name: string, meta: JsonObject): Effect.Effect<void, never, Scope.Scope> =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() => {
          const known = this.byName.get(name) ?? new Map<string, unknown>()
          const taken = Object.keys(meta).find((key) => known.has(key))
          if (taken !== undefined) {
            return Effect.die(
              new Error(`The tool ${JSON.stringify(name)} already has the _meta key ${JSON.stringify(taken)}`)
            )
          }
          for (const [key, value] of Object.entries(meta)) known.set(key, value)
          this.byName.set(name, known)
          return this.changed
        }),
        () =>
          Effect.suspend(() => {
            const known = this.byName.get(name)
            for (const key of Object.keys(meta)) known?.delete(key)
            if (known?.size === 0) this.byName.delete(name)
            return this.changed
          })
      )
    )
}
