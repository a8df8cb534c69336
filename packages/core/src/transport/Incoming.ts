/**
 * Incoming items at one end of a connection, either messages or bytes. They are available as a Stream and, if the source has callbacks,
 * also as a delivery.
 *
 * A reader receives the same items and the same end from both. A delivery hands over an item within the source's own callback. A Stream has
 * to wake a fiber, which costs as much as handling a single request.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** The push-based path of a source. */
export interface Delivery<A, E> {
  /** The stream this delivery replaces. Readers only use the delivery if `incoming` is this exact stream, so replacing `incoming` works. */
  readonly stream: Stream.Stream<A, E>
  /**
   * Calls `receive` for each item in order until the source ends. Fails if the stream would fail. Can be interrupted. If `receive` throws,
   * the effect ends with that defect.
   */
  readonly run: (receive: (item: A) => void) => Effect.Effect<void, E>
}

/** A source of items. It can only be read once, by a single reader. */
export interface Incoming<A, E> {
  readonly incoming: Stream.Stream<A, E>
  /** Default: items are pulled from the stream. */
  readonly delivery?: Delivery<A, E> | undefined
}

/** Creates a source from callbacks. Its stream buffers items until they are pulled, without a limit. */
export const fromCallback = <A, E>(run: Delivery<A, E>["run"]): Required<Incoming<A, E>> => {
  const stream = Stream.callback<A, E>((queue) =>
    Effect.matchCauseEffect(
      run((item) => void Queue.offerUnsafe(queue, item)),
      { onSuccess: () => Queue.end(queue), onFailure: (cause) => Queue.failCause(queue, cause) }
    )
  )
  return { incoming: stream, delivery: { stream, run } }
}

const deliveryOf = <A, E>({ delivery, incoming }: Incoming<A, E>): Delivery<A, E> | undefined =>
  delivery?.stream === incoming ? delivery : undefined

/** Calls `receive` for each item until the source ends. An error thrown by `receive` is a defect. */
export const forEach = <A, E>(self: Incoming<A, E>, receive: (item: A) => void): Effect.Effect<void, E> =>
  deliveryOf(self)?.run(receive) ??
  Stream.runForEachArray(self.incoming, (items) => Effect.sync(() => items.forEach((item) => receive(item))))

/** Applies the same transformation to both paths. */
const change = <A, B, E>(
  self: Incoming<A, E>,
  stream: Stream.Stream<B, E>,
  changed: (receive: (item: B) => void) => (item: A) => void
): Incoming<B, E> => {
  const delivery = deliveryOf(self)
  return {
    incoming: stream,
    delivery: delivery && { stream, run: (receive) => delivery.run(changed(receive)) }
  }
}

/** Replaces each item with any number of items, in order. */
export const flatMap = <A, B, E>(self: Incoming<A, E>, f: (item: A) => ReadonlyArray<B>): Incoming<B, E> =>
  change(
    self,
    Stream.flattenArray(Stream.filter(Stream.map(self.incoming, f), Arr.isReadonlyArrayNonEmpty)),
    (receive) => (item) => f(item).forEach(receive)
  )

/** Replaces each item. */
export const map = <A, B, E>(self: Incoming<A, E>, f: (item: A) => B): Incoming<B, E> =>
  change(self, Stream.map(self.incoming, f), (receive) => (item) => receive(f(item)))

/** Keeps the items that satisfy the predicate. */
export const filter = <A, E>(self: Incoming<A, E>, predicate: (item: A) => boolean): Incoming<A, E> =>
  change(self, Stream.filter(self.incoming, predicate), (receive) => (item) => {
    if (predicate(item)) receive(item)
  })
