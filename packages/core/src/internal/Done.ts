/**
 * Effects that are done already: an Exit is an Effect. Whoever meets one needs no fiber, no services and no finalizers for it, which is
 * what the fast paths of requests are made of. They give what the plain ones give: an Exit does nothing when it runs.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** What the effect has come to, if it is done. */
export const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Exit<A, E> | undefined =>
  // An Exit among the effects of these types has these types.
  Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/** The effect that a function gives, outside of any fiber: what it throws is a defect there, too. */
export const attempt = <A, E, R>(make: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return make()
  } catch (defect) {
    return Effect.die(defect)
  }
}

/** `f` of what the effect comes to; if that is done, here and now. */
export const follow = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  f: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> => {
  const done = exitOf(effect)
  if (done === undefined) return Effect.flatMap(effect, f)
  // What it throws must not pass by who has something to close.
  return Exit.isSuccess(done) ? attempt(() => f(done.value)) : Exit.failCause(done.cause)
}

/** The effect, its failure in other words. */
export const orElse = <A, E, R, E2, C>(
  effect: Effect.Effect<A, E, R>,
  f: (error: E, context: C) => E2,
  context: C
): Effect.Effect<A, E2, R> => {
  const done = exitOf(effect)
  // What succeeded has no failure.
  return done !== undefined && Exit.isSuccess(done)
    ? (done as Exit.Exit<A, never>)
    : Effect.mapErrorEager(effect, (error) => f(error, context))
}
