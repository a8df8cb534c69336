/**
 * Which of several mounted sources answers for a name: the first that lists it, in the order in which they were mounted.
 *
 * Owns what the lists said, per caller, until a list changes. A single source is never asked for its list. A source whose list cannot
 * be read is passed over; a name that no source lists goes to the first, whose error says so.
 */
import { Principal } from "@effect-mcp/core/Principal"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"

export class SourceOwners<Source> {
  private known = new WeakMap<Principal["Service"], Map<string, Source>>()
  private knownVersion = -1
  private readonly registry: { readonly version: number; readonly sources: ReadonlyArray<Source> }

  /** `registry.version` grows whenever a list may have changed. */
  constructor(registry: { readonly version: number; readonly sources: ReadonlyArray<Source> }) {
    this.registry = registry
  }

  /** What `offer` gives of the source that owns `name`; undefined where no source offers anything. */
  choose<A, E, R, R2>(
    name: string,
    offer: (source: Source) => Effect.Effect<A, E, R> | undefined,
    lists: (source: Source) => Effect.Effect<boolean, McpError.McpError, R2>
  ): Effect.Effect<A, E, R | R2 | Principal> | undefined {
    const offers = new Map<Source, Effect.Effect<A, E, R>>()
    for (const source of this.registry.sources) {
      const offered = offer(source)
      if (offered !== undefined) offers.set(source, offered)
    }
    const [first] = offers.values()
    if (offers.size <= 1 || first === undefined) return first
    return Effect.flatMap(this.find(name, [...offers.keys()], lists), (owner) =>
      owner === undefined ? first : (offers.get(owner) ?? first)
    )
  }

  private find<R>(
    name: string,
    sources: ReadonlyArray<Source>,
    lists: (source: Source) => Effect.Effect<boolean, McpError.McpError, R>
  ): Effect.Effect<Source | undefined, never, R | Principal> {
    return Effect.flatMap(Principal, (principal) => {
      const owner = this.ownersFor(principal).get(name)
      if (owner !== undefined && sources.includes(owner)) return Effect.succeed(owner)
      const { version } = this.registry
      return Effect.map(
        Effect.forEach(sources, (source) => Effect.orElseSucceed(lists(source), () => false), {
          concurrency: "unbounded"
        }),
        (listed) => {
          const found = sources[listed.indexOf(true)]
          if (found !== undefined && version === this.registry.version) this.ownersFor(principal).set(name, found)
          return found
        }
      )
    })
  }

  private ownersFor(principal: Principal["Service"]): Map<string, Source> {
    if (this.knownVersion !== this.registry.version) this.known = new WeakMap()
    this.knownVersion = this.registry.version
    const owners = this.known.get(principal) ?? new Map<string, Source>()
    this.known.set(principal, owners)
    return owners
  }
}
