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
