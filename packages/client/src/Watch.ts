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
import * as Scope from "effect/Scope"
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
  /** What the server says, in the reader. */
  readonly updated: (uri: string) => void
  /** Subscribes anew to all that is watched, on a connection that forgot; every watcher is told to read again. */
  readonly resubscribe: Effect.Effect<void, ClientError>
  readonly close: (closed: Closed) => void
}

/** Whether `uri` is the watched resource or lies below it. */
const isPart = (watched: string, uri: string): boolean =>
  uri === watched || (uri.startsWith(watched) && (/[/#?]$/.test(watched) || /^[/#?]/.test(uri.slice(watched.length))))

export const make = Effect.fnUntraced(function* (
  connection: () => Pick<Connection, "request">
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const scope = yield* Scope.Scope
  const hubs = new Map<string, Hub<WatchEvent, ClientError>>()
  const subscribe = (uri: string) => connection().request("resources/subscribe", { uri })

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
        Effect.tap(() =>
          Effect.acquireRelease(
            subscribe(uri),
            () =>
              // Nobody waits for the answer, so that leaving is immediate; the request itself is sent in order.
              Effect.forkIn(Effect.ignore(connection().request("resources/unsubscribe", { uri })), scope, {
                startImmediately: true
              }),
            { interruptible: true }
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
    resubscribe: Effect.suspend(() =>
      Effect.forEach(
        [...hubs],
        ([uri, hub]) =>
          Effect.andThen(
            subscribe(uri),
            Effect.sync(() => hub.publish({ _tag: "Updated", uri }))
          ),
        { concurrency: "unbounded", discard: true }
      )
    ),
    close: (closed) => {
      for (const hub of hubs.values()) hub.close(Exit.fail(closed))
    }
  }
})
