/**
 * Watched resources (spec: server/resources, subscriptions). All watchers of a URI share one subscription.
 *
 * An event tells the watcher to read the resource again. Events are sent after subscribing, after each update, and after each
 * resubscription, because updates may have been missed by then. A slow watcher may miss older events, but never the latest one.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Backoff, type RetryPolicy } from "../connection/Backoff.ts"
import type { ClientError, Closed } from "../ClientError.ts"
import type { EraRequests } from "../connection/Era.ts"
import { Hub } from "../internal/Hub.ts"
import * as Resubscribe from "../reconnect/Resubscribe.ts"

/**
 * An event for a watcher. `Watching` is sent after each subscription and resubscription. The `uri` of an update may belong to a part of the
 * watched resource.
 */
export interface WatchEvent {
  readonly _tag: "Watching" | "Updated"
  readonly uri: string
}

/** Number of events to keep for a slow watcher. */
const capacity = 256

export interface Watch {
  readonly watch: (uri: string) => Stream.Stream<WatchEvent, ClientError>
  /** Delivers an update that names no subscription. Called by the reader. */
  readonly updated: (uri: string) => void
  /** Called when updates may have been missed. */
  readonly missed: () => void
  readonly close: (closed: Closed) => void
}

/** True if `uri` is the watched resource or a part of it. */
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

/** Without a retry policy, a watch ends together with its subscription. */
export const make = Effect.fnUntraced(function* (
  conversation: () => Pick<EraRequests, "subscribeResource">,
  policy: RetryPolicy | undefined
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const all = new Map<string, Watched>()
  const forget = (uri: string, watched: Watched): void => {
    if (all.get(uri) === watched) all.delete(uri)
  }

  const subscriptions = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (uri: string): Effect.fn.Return<Watched, ClientError, Scope.Scope> {
      const watched: Watched = { hub: new Hub(), backoff: policy && new Backoff(policy) }
      const subscribed = Deferred.makeUnsafe<void, ClientError>()
      yield* Effect.acquireRelease(
        Effect.sync(() => all.set(uri, watched)),
        () => Effect.sync(() => forget(uri, watched))
      )
      const kept = Resubscribe.keep({
        subscribe: Effect.suspend(() => conversation().subscribeResource(uri, (part) => updated(watched, part))),
        onSubscribed: (again) => {
          if (again) watched.hub.publish({ _tag: "Watching", uri })
          else Deferred.doneUnsafe(subscribed, Effect.void)
        },
        backoff: watched.backoff
      })
      yield* Effect.forkScoped(
        Effect.catch(kept, (error) => {
          Deferred.doneUnsafe(subscribed, Effect.fail(error))
          watched.hub.close(Exit.fail(error))
          return Effect.void
        }),
        { startImmediately: true }
      )
      return yield* Effect.as(Deferred.await(subscribed), watched)
    })
  })

  return {
    watch: (uri) =>
      Stream.unwrap(
        Effect.map(RcMap.get(subscriptions, uri), ({ hub }) => hub.stream(capacity, { _tag: "Watching", uri }))
      ),
    updated: (uri) => {
      const concerned = [...all].filter(([watched]) => isPart(watched, uri))
      // The specification does not define the URIs of parts, so an unknown URI may concern every watched resource.
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
