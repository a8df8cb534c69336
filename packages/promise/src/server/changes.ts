/** Delivers the resource updates a program announces to their subscribers. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** Announcements by URI. A stream runs as long as its resource has subscribers. */
export class Changes {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Number of URIs that have subscribers. */
  get size(): number {
    return this.#listeners.size
  }

  /** Notifies the resource's subscribers that they should read it again. */
  announce(uri: string): void {
    for (const listener of this.#listeners.get(uri) ?? []) listener()
  }

  /** Emits an event for each announcement. If a subscriber is slow, several announcements are merged into one event. */
  of(uri: string): Stream.Stream<void> {
    return Stream.callback<void>(
      (queue) =>
        Effect.acquireRelease(
          Effect.sync(() => this.#add(uri, () => void Queue.offerUnsafe(queue, undefined))),
          (remove) => Effect.sync(remove)
        ),
      { bufferSize: 1, strategy: "sliding" }
    )
  }

  #add(uri: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(uri) ?? new Set()
    this.#listeners.set(uri, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(uri) === listeners) this.#listeners.delete(uri)
    }
  }
}
