/**
 * Merges a list of several servers, such as their tools, into one.
 *
 * A server that is not connected, or does not answer in time, contributes nothing. The last listing decides which server a name belongs to,
 * so a name keeps its server while the server is down. Unknown names cause a new listing at most once a second.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import { type Item, type ListKind, type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { Client } from "../Client.ts"
import * as ListMembers from "../features/ListMembers.ts"
import * as Names from "./Names.ts"
import type { Supervised } from "./Supervisor.ts"

/** An item and the server that listed it. */
export interface MergedItem<A> {
  readonly server: string
  /** Name in the merged list. */
  readonly name: string
  /** The item as its server lists it, with the server's own name. */
  readonly item: A
}

export interface Options {
  readonly servers: ReadonlyArray<Supervised>
  readonly names: Names.Naming
  readonly patience: Duration.Input
}

/** The server that a name in the merged list belongs to. */
export interface Route {
  readonly server: Supervised
  /** The item's name on its server. */
  readonly name: string
}

export interface MergedList<A> {
  readonly list: Effect.Effect<ReadonlyArray<MergedItem<A>>, Names.NameClash>
  /** Finds the server that a name belongs to. Fails with `McpError` (-32602) if no server has listed the name. */
  readonly route: (name: string) => Effect.Effect<Route, Names.NameClash | McpError.McpError>
  /** Emits when the list may have changed. Bursts of changes become one event. */
  readonly changes: Stream.Stream<void>
}

/** How long an unknown name is assumed to be missing, in milliseconds. */
const missLifetime = 1000

/**
 * Returns a server's items. The list is empty if the server lacks the feature, and `undefined` if the server is not connected or does not
 * answer.
 */
export const itemsOf = <N extends ListName>(
  server: Supervised,
  list: N,
  patience: Duration.Input
): Effect.Effect<ReadonlyArray<Item<N>> | undefined> =>
  server.client.pipe(
    Effect.flatMap((client) =>
      Effect.timeoutOrElse(Stream.runCollect(ListMembers.listOf(client, list)), {
        duration: patience,
        orElse: () =>
          Effect.andThen(Effect.sync(server.suspect), Effect.fail({ message: "it did not respond in time" }))
      })
    ),
    Effect.tapError((error) => Effect.sync(() => "_tag" in error && error._tag === "Closed" && server.suspect())),
    Effect.map((items): ReadonlyArray<Item<N>> | undefined => items),
    Effect.catch((error) => {
      const lacksFeature = "_tag" in error && error._tag === "CapabilityMissing"
      const noted = Effect.logDebug(`Skipped the server ${server.name} in a list: ${error.message}`)
      return lacksFeature ? Effect.succeed([]) : Effect.as(noted, undefined)
    })
  )

/** Emits each time the server connects or disconnects, or its list changes. */
export const changesOf = (
  server: Supervised,
  changes: (client: Client) => Stream.Stream<unknown>
): Stream.Stream<void> =>
  Stream.suspend(() => {
    let isFirst = true
    const comesOrGoes = Stream.changesWith(server.states, (before, after) => before._tag === after._tag)
    return Stream.switchMap(comesOrGoes, ({ _tag }) => {
      const event = isFirst || _tag === "Connecting" ? Stream.empty : Stream.make(undefined)
      isFirst = false
      const ofClient = _tag === "Connected" ? Stream.unwrap(Effect.map(server.client, changes)) : Stream.empty
      return Stream.concat(
        event,
        Stream.catchCause(
          Stream.map(ofClient, () => undefined),
          () => Stream.empty
        )
      )
    })
  })

/** Emits each time the server connects or disconnects, or a list behind the capability changes. */
export const listChanges = (server: Supervised, kind: ListKind): Stream.Stream<void> =>
  changesOf(server, (client) => ListMembers.changesOf(client, kind))

/** Merges streams of events. Bursts become one event. */
export const anyOf = (all: ReadonlyArray<Stream.Stream<void>>): Stream.Stream<void> =>
  Stream.buffer(Stream.mergeAll(all, { concurrency: "unbounded" }), { capacity: 1, strategy: "sliding" })

export const make = <N extends Names.NamedList>(
  list: N,
  { names, patience, servers }: Options
): MergedList<Item<N>> => {
  const kind = Names.kindOf(list)
  const { capability } = lists[list]
  const all = servers.map(({ name }) => name)
  /** The last listing from each server: the server's own names, by name in the merged list. */
  const known = new Map<Supervised, ReadonlyMap<string, string>>()
  const lock = Semaphore.makeUnsafe(1)
  let readAt = -Infinity

  const read = (server: Supervised) =>
    Effect.map(itemsOf(server, list, patience), (items) => {
      const listed = (items ?? [])
        .map((item) => ({ server: server.name, name: Names.nameOf(names, server.name, kind, item.name), item }))
        .filter(({ name }) => !Names.isOfAnother(names, name, server.name, all))
      if (items !== undefined) known.set(server, new Map(listed.map(({ item, name }) => [name, item.name])))
      return listed
    })

  const listed = Effect.gen(function* () {
    const pages = yield* Effect.forEach(servers, read, { concurrency: "unbounded" })
    readAt = yield* Clock.currentTimeMillis
    const merged = new Map<string, MergedItem<Item<N>>>()
    for (const listed of pages.flat()) {
      const first = merged.get(listed.name)
      if (first === undefined) merged.set(listed.name, listed)
      else if (names === "refuse" && first.server !== listed.server) {
        return yield* Names.clash(kind, listed.name, [first.server, listed.server])
      }
    }
    return [...merged.values()]
  })

  const find = (name: string): Effect.Effect<Route | undefined, Names.NameClash> =>
    Effect.suspend(() => {
      const found = servers.flatMap((server): ReadonlyArray<Route> => {
        const own = known.get(server)?.get(name)
        return own === undefined ? [] : [{ server, name: own }]
      })
      const [first, second] = found
      return names === "refuse" && first !== undefined && second !== undefined
        ? Effect.fail(Names.clash(kind, name, [first.server.name, second.server.name]))
        : Effect.succeed(first)
    })

  const unknown = (name: string): McpError.McpError => {
    const down = servers.filter((server) => server.state()._tag === "Down").map((server) => server.name)
    const more = down.length === 0 ? "" : `. Not connected: ${down.join(", ")}`
    return McpError.invalidParams(`Unknown ${kind}: ${excerpt(name)}${more}`)
  }

  const readAgain = lock.withPermit(
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now - readAt < missLifetime ? Effect.void : Effect.asVoid(listed)
    )
  )

  return {
    list: listed,
    route: (name) =>
      Effect.flatMap(find(name), (known) =>
        known !== undefined
          ? Effect.succeed(known)
          : Effect.flatMap(Effect.andThen(readAgain, find(name)), (found) =>
              found === undefined ? Effect.fail(unknown(name)) : Effect.succeed(found)
            )
      ),
    changes: anyOf(servers.map((server) => listChanges(server, capability)))
  }
}
