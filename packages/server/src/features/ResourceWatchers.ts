/**
 * Watchers of resources: the `changes` of a resource run once, from the first subscription to the last, in the context of its layer.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ResourceEntries, textOfKey, type WatchKey } from "./ResourceEntries.ts"

export interface UpdateListener {
  /** Called in the watcher's fiber: must not throw. */
  readonly resourceUpdated: (uri: string) => void
}

/** One subscription: a listener with two of them is called until both have ended. */
interface Subscription {
  readonly listener: UpdateListener
}

/** Subscribers called in one turn: few enough to stay in the processor's caches until their message is written. */
const atOnce = 64

/** Calls all subscribers, some in a turn: those have written the update before the next are called, and other requests run between. */
const notifyAll = (uri: string, subscriptions: ReadonlySet<Subscription>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const rest = subscriptions.values()
    // Subscriptions made meanwhile come last in the set and are not counted: they have missed nothing.
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

/** What runs for one key. Listeners are called one after the other: a fiber or a queue for each would cost more than the message. */
interface Watcher {
  readonly subscriptions: Set<Subscription>
  /** Interrupts the watcher when it closes. */
  readonly scope: Scope.Closeable
}

/** The watchers of a server. An `RcMap` does the same, and adds 1.5 KiB to the bundle of each server. */
export class ResourceWatchers {
  private readonly entries: ResourceEntries
  private readonly context: Context.Context<Scope.Scope>
  private readonly watchers = new Map<string, Watcher>()

  /** Watchers run in this context, and in its scope. */
  constructor(entries: ResourceEntries, context: Context.Context<Scope.Scope>) {
    this.entries = entries
    this.context = context
  }

  /** Calls the listener at every update of the key until the scope closes. */
  subscribe(key: WatchKey, listener: UpdateListener): Effect.Effect<void, never, Scope.Scope> {
    const name = textOfKey(key)
    const subscription = { listener }
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.map(
          Effect.suspend(() => {
            const known = this.watchers.get(name)
            return known === undefined ? this.start(name, key) : Effect.succeed(known)
          }),
          (watcher) => {
            watcher.subscriptions.add(subscription)
            return watcher
          }
        ),
        (watcher) =>
          Effect.suspend(() => {
            watcher.subscriptions.delete(subscription)
            if (watcher.subscriptions.size > 0) return Effect.void
            this.forget(name, watcher)
            return Scope.close(watcher.scope, Exit.void)
          })
      )
    )
  }

  private forget(name: string, watcher: Watcher): void {
    if (this.watchers.get(name) === watcher) this.watchers.delete(name)
  }

  private start(name: string, key: WatchKey): Effect.Effect<Watcher> {
    // The layer's `changes` may throw: then there is no watcher that later subscribers would join.
    const stream = this.entries.watch(key)
    const scope = Scope.forkUnsafe(Context.get(this.context, Scope.Scope))
    const watcher: Watcher = { scope, subscriptions: new Set() }
    if (stream === undefined) return Effect.succeed(watcher)
    this.watchers.set(name, watcher)
    return Stream.runForEachArray(stream, () => notifyAll(key.uri, watcher.subscriptions)).pipe(
      Effect.tapCause((cause) => {
        if (!Cause.hasDies(cause)) return Effect.void
        this.forget(name, watcher)
        return Effect.logError(`The watcher of ${key.uri} died`, cause)
      }),
      // A subscription made after the resource was removed and registered again gets its new watcher.
      Effect.andThen(
        Effect.sync(() => {
          if (this.entries.watch(key) === undefined) this.forget(name, watcher)
        })
      ),
      // The request of the first subscription ends long before the watcher, so its services are not the watcher's.
      Effect.updateContext<never, never>(() => this.context),
      Effect.forkIn(scope, { startImmediately: true }),
      Effect.as(watcher)
    )
  }
}
