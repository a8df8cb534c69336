/**
 * Broadcasts events to all running streams. A slow stream loses its own oldest events without affecting other streams.
 *
 * Replaces `PubSub` because each stream has its own capacity and the end may be an error. Publishing is synchronous, as the message reader
 * requires.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export class Hub<A, E = never> {
  private readonly queues = new Set<Queue.Queue<A, E | Cause.Done>>()
  private closed: Exit.Exit<void, E> | undefined = undefined

  publish(event: A): void {
    for (const queue of this.queues) Queue.offerUnsafe(queue, event)
  }

  /** Ends all current and future streams. */
  close(exit: Exit.Exit<void, E>): void {
    this.closed ??= exit
    for (const queue of this.queues) finish(queue, this.closed)
  }

  /** Streams `initial` followed by events published while the stream runs. At most `capacity` events are buffered. */
  stream(capacity: number, ...initial: ReadonlyArray<A>): Stream.Stream<A, E> {
    return Stream.callback<A, E>((queue) => this.join(queue, initial), { bufferSize: capacity, strategy: "sliding" })
  }

  /** Buffers events from now until the scope closes, for a stream created later. */
  subscribe(capacity: number): Effect.Effect<Queue.Queue<A, E | Cause.Done>, never, Scope.Scope> {
    return Effect.tap(Queue.sliding<A, E | Cause.Done>(capacity), (queue) => this.join(queue, []))
  }

  private join(
    queue: Queue.Queue<A, E | Cause.Done>,
    initial: ReadonlyArray<A>
  ): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        for (const event of initial) Queue.offerUnsafe(queue, event)
        if (this.closed === undefined) this.queues.add(queue)
        else finish(queue, this.closed)
      }),
      () => Effect.sync(() => this.queues.delete(queue))
    )
  }

  get listeners(): number {
    return this.queues.size
  }
}

const finish = <A, E>(queue: Queue.Queue<A, E | Cause.Done>, exit: Exit.Exit<void, E>): void => {
  if (Exit.isSuccess(exit)) Queue.endUnsafe(queue)
  else Queue.failCauseUnsafe(queue, exit.cause)
}
