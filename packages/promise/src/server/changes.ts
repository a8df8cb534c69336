/** The updates of resources that a program announces, for those that are subscribed to. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** Announcements by URI. A stream runs while its resource has subscribers. */
export class Changes {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** How many URIs have subscribers. */
  get size(): number {
    return this.#listeners.size
  }

  /** Tells the subscribers of the resource to read it again. */
  announce(uri: string): void {
    for (const listener of this.#listeners.get(uri) ?? []) listener()
  }

  /** One event per announcement; those that a slow subscriber has not seen become one. */
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
