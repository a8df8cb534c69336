/**
 * What arrives at one end of a wire, of messages or of bytes: a Stream, and a delivery beside it where the source has callbacks.
 *
 * Owns that a reader gets the same items and the same end from both. A delivery hands over an item in the callback that brought it;
 * a Stream wakes a fiber for it, which costs a lone request as much as its handling.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** The push path of a source. */
export interface Delivery<A, E> {
  /** The stream that it stands in for. Readers deliver only where `incoming` is this very stream, so a stream put in its place is read. */
  readonly stream: Stream.Stream<A, E>
  /**
   * Calls `receive` for each item, in order, until the source ends; fails as the stream does. Interruption stops it. An error that
   * `receive` throws ends it as a defect.
   */
  readonly run: (receive: (item: A) => void) => Effect.Effect<void, E>
}

/** A source of items. It is read once, by one reader. */
export interface Incoming<A, E> {
  readonly incoming: Stream.Stream<A, E>
  /** Default: items are pulled from the stream. */
  readonly delivery?: Delivery<A, E> | undefined
}

/** A source that calls back. Its stream keeps the items that are not pulled yet, without a limit. */
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

/** Calls `receive` for each item until the source ends. An error that it throws is a defect. */
export const forEach = <A, E>(self: Incoming<A, E>, receive: (item: A) => void): Effect.Effect<void, E> =>
  deliveryOf(self)?.run(receive) ??
  Stream.runForEachArray(self.incoming, (items) => Effect.sync(() => items.forEach((item) => receive(item))))

/** The same change on both paths. */
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

/** What each item becomes, in order. */
export const flatMap = <A, B, E>(self: Incoming<A, E>, f: (item: A) => ReadonlyArray<B>): Incoming<B, E> =>
  change(
    self,
    Stream.flattenArray(Stream.filter(Stream.map(self.incoming, f), Arr.isReadonlyArrayNonEmpty)),
    (receive) => (item) => f(item).forEach(receive)
  )

/** What each item becomes. */
export const map = <A, B, E>(self: Incoming<A, E>, f: (item: A) => B): Incoming<B, E> =>
  change(self, Stream.map(self.incoming, f), (receive) => (item) => receive(f(item)))

/** The items that satisfy the predicate. */
export const filter = <A, E>(self: Incoming<A, E>, predicate: (item: A) => boolean): Incoming<A, E> =>
  change(self, Stream.filter(self.incoming, predicate), (receive) => (item) => {
    if (predicate(item)) receive(item)
  })
