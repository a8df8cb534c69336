/**
 * Streams of what arrives that can also be listened to: each item is handed over in the very callback that brought it.
 *
 * The fast path of readers: to wake a fiber for each arrival costs a lone request as much as its handling. A stream is known by its
 * identity, so whatever is made of one by the functions of Stream is an ordinary stream, and nothing that was put around it is left out.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** Hands over what arrives until it ends; fails as the stream would. Interrupting it stops listening. */
export type Listen<A, E> = (take: (item: A) => void) => Effect.Effect<void, E>

const listens = new WeakMap<object, Listen<unknown, unknown>>()

/** How to listen to the stream, if one can. */
const listenTo = <A, E>(stream: Stream.Stream<A, E>): Listen<A, E> | undefined =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `make` put it there, with the types of this very stream
  listens.get(stream) as Listen<A, E> | undefined

/** The stream of what `listen` hands over. It keeps what is not pulled yet: whoever runs it always pulls. */
export const make = <A, E>(listen: Listen<A, E>): Stream.Stream<A, E> => {
  const stream = Stream.callback<A, E>((queue) =>
    Effect.matchCauseEffect(
      listen((item) => void Queue.offerUnsafe(queue, item)),
      { onSuccess: () => Queue.end(queue), onFailure: (cause) => Queue.failCause(queue, cause) }
    )
  )
  listens.set(stream, listen)
  return stream
}

/** `take` for each item until the stream ends. What it throws is a defect. */
export const forEach = <A, E>(stream: Stream.Stream<A, E>, take: (item: A) => void): Effect.Effect<void, E> =>
  listenTo(stream)?.(take) ??
  Stream.runForEachArray(stream, (items) => Effect.sync(() => items.forEach((item) => take(item))))

/** What each item becomes, in order; it can be listened to if the stream can. */
export const flatMap = <A, B, E>(
  stream: Stream.Stream<A, E>,
  f: (item: A) => ReadonlyArray<B>
): Stream.Stream<B, E> => {
  const listen = listenTo(stream)
  return listen === undefined
    ? Stream.flattenIterable(Stream.map(stream, f))
    : make((take) => listen((item) => f(item).forEach(take)))
}
