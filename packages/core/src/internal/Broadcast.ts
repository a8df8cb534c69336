/**
 * Values for all that read at the moment; a reader that is slow loses the oldest ones.
 *
 * A sliding `PubSub` does the same, and adds 4 KiB to the bundle of each server.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

export class Broadcast<A> {
  private readonly readers = new Set<Queue.Queue<A>>()

  /** How many values wait for a reader at most. */
  readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  send(value: A): void {
    for (const reader of this.readers) Queue.offerUnsafe(reader, value)
  }

  /** The values from the start of the stream on. */
  readonly stream: Stream.Stream<A> = Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.suspend(() =>
          Effect.tap(Queue.sliding<A>(this.capacity), (reader) => Effect.sync(() => this.readers.add(reader)))
        ),
        (reader) => Effect.sync(() => this.readers.delete(reader))
      ),
      Stream.fromQueue
    )
  )
}
