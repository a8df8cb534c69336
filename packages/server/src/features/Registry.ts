/**
 * Entries by key: scoped registrations and mounted sources, in order of registration.
 *
 * Closing a registration's scope removes the entry, waits for the entry's calls in flight, and only then releases its
 * services. Registering a key twice is a defect. One registry serves every session.
 */
import { type HandledRequest, Site, siteOf } from "@effect-mcp/core/internal/handlers"
import { attempt, checkedBoolean, exitOf } from "@effect-mcp/core/internal/calling"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** A set of features that reports changes. */
export interface Changing {
  /** Calls the listener after every change, in the fiber that makes the change. The listener must not throw. */
  readonly listen: (listener: () => void) => void
}

interface Slot<Entry> {
  readonly entry: Entry
  /** Where the entry was registered, for the error about a second registration. */
  readonly site: Error | undefined
  /** Completes when the entry is removed. */
  readonly gone: Deferred.Deferred<void>
  active: number
  drained: Deferred.Deferred<void> | undefined
}

/** Maximum number of cached views. There is one view per set of entries that some principal sees. */
const maxViews = 100

/** The entries of one kind. `Source` is the interface that a mounted server (or another registry) has for that kind. */
export class Registry<Entry, Source extends { readonly changes: Stream.Stream<void> }> {
  private readonly slots = new Map<string, Slot<Entry>>()
  /** The mounted sources, in order. */
  readonly mounted = new Set<Source>()
  private readonly listeners = new Set<() => void>()
  private readonly noun: string
  /** Incremented on every change. Text that was encoded for an older version is stale. */
  version = 0

  constructor(noun: string) {
    this.noun = noun
  }

  static readonly make = <Entry, Source extends { readonly changes: Stream.Stream<void> }>(
    noun: string
  ): Effect.Effect<Registry<Entry, Source>> => Effect.sync(() => new Registry<Entry, Source>(noun))

  readonly changed = Effect.sync(() => {
    this.version++
    for (const listener of this.listeners) listener()
  })
  readonly listen: Changing["listen"] = (listener) => void this.listeners.add(listener)

  get isEmpty(): boolean {
    return this.slots.size === 0 && this.mounted.size === 0
  }
  get sources(): ReadonlyArray<Source> {
    return [...this.mounted]
  }
  private listed: ReadonlyArray<Entry> = []
  private listedOf = -1
  /** Returns the same array until the registry changes. */
  get entries(): ReadonlyArray<Entry> {
    if (this.listedOf !== this.version) this.listed = Array.from(this.slots.values(), (slot) => slot.entry)
    this.listedOf = this.version
    return this.listed
  }
  private readonly views = new Map<string, ReadonlyArray<Entry>>()
  private viewed = -1
  /** Returns the entries that `visible` admits: the same array for the same entries until the registry changes. */
  view(visible: (entry: Entry) => boolean): ReadonlyArray<Entry> {
    if (this.viewed !== this.version) this.views.clear()
    this.viewed = this.version
    const entries: Array<Entry> = []
    let which = ""
    for (const { entry } of this.slots.values()) {
      const shown = visible(entry)
      which += shown ? "1" : "0"
      if (shown) entries.push(entry)
    }
    const known = this.views.get(which)
    if (known !== undefined) return known
    // The number of sets depends on how many principals there are, so it must be bounded.
    if (this.views.size >= maxViews) this.views.clear()
    this.views.set(which, entries)
    return entries
  }

  get(key: string): Entry | undefined {
    return this.slots.get(key)?.entry
  }

  /**
   * Runs `use` on the entry, whose services live until the effect ends, or `otherwise` if there is no such entry. For an eager request,
   * `use` is called immediately and the entry is held until the request ends.
   */
  hold<A, E, R>(
    key: string,
    use: (entry: Entry) => Effect.Effect<A, E, R>,
    otherwise: () => Effect.Effect<A, E, R>,
    request?: Pick<HandledRequest, "atEnd" | "eager">
  ): Effect.Effect<A, E, R> {
    if (request?.eager === true) {
      const slot = this.slots.get(key)
      return slot === undefined ? otherwise() : using(slot, use, request)
    }
    let held: Slot<Entry> | undefined
    // Takes the slot inside `onExit`, because a fiber may be interrupted between any two steps.
    const used = Effect.suspend(() => {
      held = this.slots.get(key)
      if (held === undefined) return otherwise()
      held.active++
      return use(held.entry)
    })
    return Effect.onExitPrimitive(used, () => {
      if (held !== undefined) release(held)
      return undefined
    })
  }

  /**
   * Holds an entry for work that is not a single effect: removing the entry waits for `release`. Returns `undefined` if there is no such
   * entry.
   */
  take(key: string): { readonly gone: Effect.Effect<void>; readonly release: () => void } | undefined {
    const slot = this.slots.get(key)
    if (slot === undefined) return undefined
    slot.active++
    return { gone: Deferred.await(slot.gone), release: () => release(slot) }
  }

  /** Registers an entry. `name` is used in errors, and defaults to the key. */
  register(key: string, entry: Entry, name: string = key): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.flatMap(Site, (site) => {
          const taken = this.slots.get(key)
          if (taken !== undefined) return Effect.die(new Error(collision(this.noun, name, taken.site, site)))
          const slot: Slot<Entry> = { entry, site, gone: Deferred.makeUnsafe(), active: 0, drained: undefined }
          this.slots.set(key, slot)
          return Effect.as(this.changed, slot)
        }),
        (slot) =>
          Effect.suspend(() => {
            this.slots.delete(key)
            Deferred.doneUnsafe(slot.gone, Effect.void)
            if (slot.active === 0) return this.changed
            slot.drained = Deferred.makeUnsafe()
            return Effect.andThen(this.changed, Deferred.await(slot.drained))
          })
      )
    )
  }
}

const collision = (noun: string, name: string, first: Error | undefined, second: Error | undefined): string =>
  `The ${noun} ${JSON.stringify(name)} is already registered. Rename one of the two` +
  `\n  the first: ${siteOf(first) ?? "at an unknown location"}\n  the second: ${siteOf(second) ?? "at an unknown location"}`

const using = <Entry, A, E, R>(
  slot: Slot<Entry>,
  use: (entry: Entry) => Effect.Effect<A, E, R>,
  request: Pick<HandledRequest, "atEnd">
): Effect.Effect<A, E, R> => {
  slot.active++
  const effect = attempt(() => use(slot.entry))
  if (exitOf(effect) === undefined) request.atEnd(() => release(slot))
  else release(slot)
  return effect
}

const release = (slot: Slot<unknown>): void => {
  if (--slot.active === 0 && slot.drained !== undefined) Deferred.doneUnsafe(slot.drained, Effect.void)
}

/** True if a registry's list may depend on the caller, which is the case for every mounted source. */
export const isRestricted = ({
  entries,
  sources
}: {
  readonly entries: ReadonlyArray<{ readonly visible?: unknown }>
  readonly sources: ReadonlyArray<unknown>
}): boolean => sources.length > 0 || entries.some(({ visible }) => visible !== undefined)

type Caller = Principal["Service"]
type Visible = { readonly visible?: ((caller: Caller, uri?: string) => boolean) | undefined }

/** Returns true if the caller sees the entry. */
export const sees = ({ visible }: Visible, caller: Caller, uri?: string): boolean =>
  visible === undefined || checkedBoolean("visible", visible(caller, uri))

type Items<A> = Effect.Effect<ReadonlyArray<A>, McpError, QueryServices>

/**
 * Lists the items of the entries that the caller sees, then the items in `more`. If two items have the same key, the
 * first one is kept.
 */
export const itemsOf = <Entry extends Visible, A>(
  registry: { readonly entries: ReadonlyArray<Entry> },
  item: (entry: Entry) => A,
  key: (item: A) => string,
  more: (caller: Caller) => ReadonlyArray<Items<A>>
): Items<A> =>
  Effect.flatMap(Principal, (caller) => {
    const own = registry.entries.filter((entry) => sees(entry, caller)).map(item)
    const others = more(caller)
    if (others.length === 0) return Effect.succeed(own)
    return Effect.map(Effect.all(others, { concurrency: "unbounded" }), (rest) => uniqueBy([own, ...rest].flat(), key))
  })

/** Keeps the first item for each key. */
export const uniqueBy = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyArray<A> => {
  const byKey = new Map<string, A>()
  for (const item of items) if (!byKey.has(key(item))) byKey.set(key(item), item)
  return [...byKey.values()]
}
