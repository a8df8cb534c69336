/**
 * Watching resources (spec: server/resources, subscriptions): however many watch a URI, the server sees one subscription, from the
 * first watcher to the last.
 *
 * An event is a hint to read again: one when the subscription stands, one per update, and one when it stands again after the server
 * ended it, or the connection or what came by it was lost, since nobody knows what was missed. Repeated hints that a slow watcher has
 * not seen may be dropped, never the newest.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Backoff, type Policy } from "../connection/Backoff.ts"
import type { ClientError, Closed } from "../ClientError.ts"
import type { Era } from "../connection/Era.ts"
import { Hub } from "../internal/Hub.ts"
import * as Resubscribe from "../reconnect/Resubscribe.ts"

/** `Watching`: from now on, or again from now on. `uri` of an update may be a part of the watched resource. */
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
  /** An update may have been missed. */
  readonly missed: () => void
  readonly close: (closed: Closed) => void
}

/** Whether `uri` is the watched resource or lies below it. */
const isPart = (watched: string, uri: string): boolean =>
  uri === watched || (uri.startsWith(watched) && (/[/#?]$/.test(watched) || /^[/#?]/.test(uri.slice(watched.length))))

interface Watched {
  readonly hub: Hub<WatchEvent, ClientError>
  readonly backoff: Backoff | undefined
}

const updated = ({ backoff, hub }: Watched, uri: string): void => {
  backoff?.succeeded()
  hub.publish({ _tag: "Updated", uri })
}

/** Without a policy a watch ends as its subscription does. */
export const make = Effect.fnUntraced(function* (
  conversation: () => Pick<Era, "subscribeResource">,
  policy: Policy | undefined
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const all = new Map<string, Watched>()
  const forget = (uri: string, watched: Watched): void => {
    if (all.get(uri) === watched) all.delete(uri)
  }

  const subscriptions = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (uri: string): Effect.fn.Return<Watched, ClientError, Scope.Scope> {
      const watched: Watched = { hub: new Hub(), backoff: policy && new Backoff(policy) }
      const stands = Deferred.makeUnsafe<void, ClientError>()
      yield* Effect.acquireRelease(
        Effect.sync(() => all.set(uri, watched)),
        () => Effect.sync(() => forget(uri, watched))
      )
      const kept = Resubscribe.keep({
        subscribe: Effect.suspend(() => conversation().subscribeResource(uri, (part) => updated(watched, part))),
        onSubscribed: (again) => {
          if (again) watched.hub.publish({ _tag: "Watching", uri })
          else Deferred.doneUnsafe(stands, Effect.void)
        },
        backoff: watched.backoff
      })
      yield* Effect.forkScoped(
        Effect.catch(kept, (error) => {
          Deferred.doneUnsafe(stands, Effect.fail(error))
          watched.hub.close(Exit.fail(error))
          return Effect.void
        }),
        { startImmediately: true }
      )
      return yield* Effect.as(Deferred.await(stands), watched)
    })
  })

  return {
    watch: (uri) =>
      Stream.unwrap(
        Effect.map(RcMap.get(subscriptions, uri), ({ hub }) => hub.stream(capacity, { _tag: "Watching", uri }))
      ),
    updated: (uri) => {
      const concerned = [...all].filter(([watched]) => isPart(watched, uri))
      // The specification does not say how the URI of a part looks. Better to read once too often than to miss an update.
      for (const [, watched] of concerned.length > 0 ? concerned : all) updated(watched, uri)
    },
    missed: () => {
      for (const [uri, { hub }] of all) hub.publish({ _tag: "Watching", uri })
    },
    close: (closed) => {
      for (const { hub } of all.values()) hub.close(Exit.fail(closed))
    }
  }
})
