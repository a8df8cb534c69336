/**
 * Watching resources (spec: server/resources, subscriptions): however many watch a URI, the server sees one subscription, from the
 * first watcher to the last.
 *
 * An event is a hint to read again: the first when the subscription stands, then one per update. Repeated hints that a slow watcher
 * has not seen may be dropped, never the newest.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClientError, Closed } from "./ClientError.ts"
import type { Connection } from "./Connection.ts"
import { Hub } from "./internal/Hub.ts"

/** `Watching` is the first event; `uri` of an update may be a part of the watched resource. */
export interface WatchEvent {
  readonly _tag: "Watching" | "Updated"
  readonly uri: string
}

/** Events that wait for a slow watcher at most. */
const capacity = 256

export interface Watch {
  readonly watch: (uri: string) => Stream.Stream<WatchEvent, ClientError>
  /** An update that names no subscription, in the reader. */
  readonly updated: (uri: string) => void
  readonly close: (closed: Closed) => void
}

/** Whether `uri` is the watched resource or lies below it. */
const isPart = (watched: string, uri: string): boolean =>
  uri === watched || (uri.startsWith(watched) && (/[/#?]$/.test(watched) || /^[/#?]/.test(uri.slice(watched.length))))

export const make = Effect.fnUntraced(function* (
  connection: () => Pick<Connection, "watching">
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const hubs = new Map<string, Hub<WatchEvent, ClientError>>()

  const subscriptions = yield* RcMap.make({
    lookup: (uri: string) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const hub = new Hub<WatchEvent, ClientError>()
          hubs.set(uri, hub)
          return hub
        }),
        (hub) =>
          Effect.sync(() => {
            if (hubs.get(uri) === hub) hubs.delete(uri)
          })
      ).pipe(
        Effect.tap((hub) =>
          Effect.flatMap(
            connection().watching(uri, (part) => hub.publish({ _tag: "Updated", uri: part })),
            (ended) =>
              // What the server ends by itself ends for every watcher.
              Effect.forkScoped(
                Effect.map(ended, (closed) => hub.close(Exit.fail(closed))),
                { startImmediately: true }
              )
          )
        )
      )
  })

  return {
    watch: (uri) =>
      Stream.unwrap(
        Effect.map(RcMap.get(subscriptions, uri), (hub) => hub.stream(capacity, { _tag: "Watching", uri }))
      ),
    updated: (uri) => {
      const watchers = [...hubs].filter(([watched]) => isPart(watched, uri))
      // The specification does not say how the URI of a part looks. Better to read once too often than to miss an update.
      for (const [, hub] of watchers.length > 0 ? watchers : hubs) hub.publish({ _tag: "Updated", uri })
    },
    close: (closed) => {
      for (const hub of hubs.values()) hub.close(Exit.fail(closed))
    }
  }
})
