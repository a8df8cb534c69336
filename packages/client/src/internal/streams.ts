/**
 * Small stream constructors based on pulls.
 *
 * Used instead of `Stream.paginate`, `mapEffect` and `flatMap`, whose support for parallel streams would add 1 KiB to clients that don't
 * need it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

/** A pull that skips the empty arrays returned by `next`. */
const filled = <A, E, R>(next: Effect.Effect<ReadonlyArray<A>, E, R>): Effect.Effect<NonEmpty<A>, E, R> =>
  Effect.flatMap(next, (items) => (isFilled(items) ? Effect.succeed(items) : filled(next)))

type NonEmpty<A> = readonly [A, ...Array<A>]
const isFilled = <A>(items: ReadonlyArray<A>): items is NonEmpty<A> => items.length > 0

/** Streams the items `next` returns each time it runs, until it is done. */
export const pulled = <A, E>(next: Pull.Pull<ReadonlyArray<A>, E>): Stream.Stream<A, E> =>
  Stream.fromPull(Effect.succeed(filled(next)))

/** Streams the items `next` returns each time it runs, until it returns `undefined`. */
export const paged = <A, E>(next: Effect.Effect<ReadonlyArray<A> | undefined, E>): Stream.Stream<A, E> =>
  pulled(Effect.flatMap(next, (items) => (items === undefined ? Cause.done() : Effect.succeed(items))))

/** Replaces each element with several items, in order. */
export const expanded = <A, B, E, E2>(
  stream: Stream.Stream<A, E>,
  expand: (item: A) => Effect.Effect<ReadonlyArray<B>, E2>
): Stream.Stream<B, E | E2> =>
  Stream.transformPull(stream, (pull) =>
    Effect.succeed(
      filled(Effect.flatMap(pull, (items) => Effect.map(Effect.forEach(items, expand), (expanded) => expanded.flat())))
    )
  )
