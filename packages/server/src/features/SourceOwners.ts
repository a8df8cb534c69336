/**
 * Decides which of several mounted sources owns a name: the first source that lists it, in the order of mounting.
 *
 * Caches the sources' lists, per caller and scopes, until a list changes. Names that clients send are not cached. A
 * single source is never asked for its list. A source whose list cannot be read is skipped. A name that no source lists
 * goes to the first source, which reports that it does not exist.
 */
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** Names that a source lists. */
export interface Listing {
  readonly names: ReadonlySet<string>
  /** Returns true if one of the source's templates matches the name. */
  readonly matches?: ((name: string) => boolean) | undefined
}

/** One read of a source's list, shared by all lookups that wait for it. */
class ListRead {
  /** `undefined` until the read has ended. */
  listing: Listing | undefined = undefined
  readonly ended = Deferred.makeUnsafe<void>()
  /** When the read began, in milliseconds. */
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

/** Maximum number of cached names, over all callers. */
const maxNames = 100_000
/**
 * How long a name that is in no list is assumed to stay missing, in milliseconds. Not every server announces its
 * changes.
 */
const missLifetime = 1000

const nothing: Listing = { names: new Set() }
const lists = ({ matches, names }: Listing, name: string): boolean => names.has(name) || matches?.(name) === true
const sizeOf = (read: ListRead | undefined): number => (read?.listing === undefined ? 0 : read.listing.names.size + 1)

/** Callers without a name are identified by their `Principal` object. */
const keyOf = (principal: Principal["Service"]): string | Principal["Service"] => {
  const key = callerKey(principal)
  return key === undefined ? principal : `${key} ${principal.scopes.join(" ")}`
}

type CallerKey = ReturnType<typeof keyOf>
type ReadList<Source, R> = (source: Source) => Effect.Effect<Listing, McpError.McpError, R>

export class SourceOwners<Source> {
  private reads = new Map<CallerKey, Map<Source, ListRead>>()
  private keptNames = 0
  private knownVersion = -1
  private readonly registry: { readonly version: number; readonly sources: ReadonlyArray<Source> }

  /** Creates the owners. `registry.version` is incremented whenever a list may have changed. */
  constructor(registry: { readonly version: number; readonly sources: ReadonlyArray<Source> }) {
    this.registry = registry
  }

  /** Returns the result of `offer` for the source that owns `name`, or `undefined` if no source offers anything. */
  choose<A, E, R, R2>(
    name: string,
    offer: (source: Source) => Effect.Effect<A, E, R> | undefined,
    list: ReadList<Source, R2>
  ): Effect.Effect<A, E, R | R2 | Principal> | undefined {
    const offers = new Map<Source, Effect.Effect<A, E, R>>()
    for (const source of this.registry.sources) {
      const offered = offer(source)
      if (offered !== undefined) offers.set(source, offered)
    }
    const [first] = offers.values()
    if (offers.size <= 1 || first === undefined) return first
    return Effect.flatMap(this.find(name, [...offers.keys()], list), (owner) =>
      owner === undefined ? first : (offers.get(owner) ?? first)
    )
  }

  private find<R>(
    name: string,
    sources: ReadonlyArray<Source>,
    list: ReadList<Source, R>
  ): Effect.Effect<Source | undefined, never, R | Principal> {
    return Effect.flatMap(Principal, (principal) => {
      const key = keyOf(principal)
      const known = this.known(key, name, sources)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.map(
          Effect.forEach(sources, (source) => this.listing(key, source, list, now), { concurrency: "unbounded" }),
          (listings) => sources[listings.findIndex((listing) => lists(listing, name))]
        )
      )
    })
  }

  /** Returns the owner of a name if the lists read so far determine it. */
  private known(key: CallerKey, name: string, sources: ReadonlyArray<Source>): Source | undefined {
    const reads = this.readsFor(key)
    for (const source of sources) {
      const listing = reads.get(source)?.listing
      if (listing === undefined) return undefined
      if (lists(listing, name)) return source
    }
    return undefined
  }

  private listing<R>(
    key: CallerKey,
    source: Source,
    list: ReadList<Source, R>,
    now: number
  ): Effect.Effect<Listing, never, R> {
    return Effect.suspend(() => {
      const reads = this.readsFor(key)
      const last = reads.get(source)
      if (last !== undefined && last.listing === undefined) {
        // If the read was interrupted, the next lookup that waits for it starts it again.
        return Effect.flatMap(Deferred.await(last.ended), () =>
          last.listing === undefined ? this.listing(key, source, list, now) : Effect.succeed(last.listing)
        )
      }
      if (last?.listing !== undefined && now - last.at < missLifetime) return Effect.succeed(last.listing)
      const read = new ListRead(now)
      reads.set(source, read)
      this.keptNames -= sizeOf(last)
      return Effect.onExit(
        Effect.orElseSucceed(list(source), () => nothing),
        (exit) =>
          Effect.sync(() => {
            const isCurrent = this.reads.get(key)?.get(source) === read
            if (Exit.isSuccess(exit)) {
              read.listing = exit.value
              if (isCurrent) this.keep(key, source, read)
            } else if (isCurrent && reads.delete(source) && reads.size === 0) this.reads.delete(key)
            Deferred.doneUnsafe(read.ended, Effect.void)
          })
      )
    })
  }

  /** Counts the names in a finished read, and forgets all other reads if there are too many. */
  private keep(key: CallerKey, source: Source, read: ListRead): void {
    this.keptNames += sizeOf(read)
    if (this.keptNames <= maxNames) return
    this.reads = new Map([[key, new Map([[source, read]])]])
    this.keptNames = sizeOf(read)
  }

  private readsFor(key: CallerKey): Map<Source, ListRead> {
    if (this.knownVersion !== this.registry.version) {
      this.reads = new Map()
      this.keptNames = 0
    }
    this.knownVersion = this.registry.version
    const reads = this.reads.get(key) ?? new Map<Source, ListRead>()
    this.reads.set(key, reads)
    return reads
  }
}
