/**
 * Resource watchers. A resource's `changes` run once, from the first subscription to the last, in the context of its
 * layer.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ResourceEntries, WatchKey } from "./ResourceEntries.ts"

export interface UpdateListener {
  /** Called in the watcher's fiber. Must not throw. */
  readonly resourceUpdated: (uri: string) => void
}

/** One subscription. A listener that subscribes twice is called until both subscriptions have ended. */
interface Subscription {
  readonly listener: UpdateListener
}

/** Subscribers that are called in one turn: few enough to stay in the processor's caches until their messages are written. */
const atOnce = 64

/** Calls all subscribers in batches. Each batch has written the update before the next is called, and other requests run in between. */
const notifyAll = (uri: string, subscriptions: ReadonlySet<Subscription>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const rest = subscriptions.values()
    // Subscriptions made in the meantime are last in the set and are not counted, because they have missed nothing.
    let left = subscriptions.size
    const some = (): Effect.Effect<void> => {
      for (let i = 0; i < atOnce; i++) {
        const next = rest.next()
        if (next.done === true || left-- === 0) return Effect.void
        next.value.listener.resourceUpdated(uri)
      }
      return Effect.flatMap(Effect.yieldNow, some)
    }
    return some()
  })

export interface ResourceWatchers {
  /** Calls the listener after every update of the key, until the scope closes. */
  readonly subscribe: (key: WatchKey, listener: UpdateListener) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Creates the watchers. They run in the context and the scope of this effect, because the request of the first
 * subscription ends long before its watcher. Listeners are called in order, because a fiber or a queue for each would
 * cost more than the message.
 */
export const make = Effect.fnUntraced(function* (
  entries: ResourceEntries
): Effect.fn.Return<ResourceWatchers, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const watchers: RcMap.RcMap<WatchKey, Set<Subscription>> = yield* RcMap.make({
    lookup: (key: WatchKey) =>
      Effect.suspend(() => {
        // The layer's `changes` may throw. In that case there must be no watcher for later subscribers to join.
        const stream = entries.watch(key)
        const subscriptions = new Set<Subscription>()
        const forget = RcMap.invalidate(watchers, key)
        if (stream === undefined) return Effect.as(forget, subscriptions)
        return Stream.runForEachArray(stream, () => notifyAll(key.uri, subscriptions)).pipe(
          Effect.tapCause((cause) =>
            Cause.hasDies(cause)
              ? Effect.andThen(forget, Effect.logError(`The watcher for ${key.uri} failed`, cause))
              : Effect.void
          ),
          // A subscription made after the resource was removed and registered again gets the new watcher.
          Effect.andThen(Effect.suspend(() => (entries.watch(key) === undefined ? forget : Effect.void))),
          // `RcMap` adds the services of the first subscription's request; this removes them.
          Effect.updateContext<never, never>(() => context),
          Effect.forkScoped({ startImmediately: true }),
          Effect.as(subscriptions)
        )
      })
  })
  return {
    subscribe: (key, listener) =>
      Effect.flatMap(RcMap.get(watchers, key), (subscriptions) => {
        const subscription = { listener }
        return Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => subscriptions.add(subscription)),
            () => Effect.sync(() => subscriptions.delete(subscription))
          )
        )
      })
  }
})
