/**
 * Effects that have already ended.
 *
 * An `Exit` is an Effect that does nothing when it runs: it needs no fiber, no services and no finalizers, so a request that is one is
 * answered at once.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const success: unknown = Object.getPrototypeOf(Exit.void)
const failure: unknown = Object.getPrototypeOf(Exit.fail(undefined))

/** `Exit.isExit`, which looks for a name in a value of any shape: a dozen times for each request, 30 ns each. */
const isExit = (effect: unknown): boolean => {
  // JavaScript may give no effect at all.
  if (typeof effect !== "object" || effect === null) return false
  const prototype: unknown = Object.getPrototypeOf(effect)
  return prototype === success || prototype === failure || Exit.isExit(effect)
}

/** The exit of an effect that has ended; undefined for one that has to run. */
export const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Exit<A, E> | undefined =>
  // An Exit among the effects of these types has these types.
  isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/** The effect that `make` gives, outside of any fiber: what `make` throws is a defect there, too. */
export const attempt = <A, E, R>(make: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return make()
  } catch (defect) {
    return Effect.die(defect)
  }
}

/**
 * Runs `effect` uninterruptibly in a separate fiber and returns its exit. Interrupting the caller interrupts that fiber with the same
 * annotations, which tell finalizers why the request ends, and waits for them.
 */
export const inOwnFiber = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const fiber = Effect.runForkWith(context)(effect, { uninterruptible: true })
    return fiber.pollUnsafe() ?? join(fiber)
  })

/** The fiber's exit; an interruption waits for the fiber's finalizers and keeps their defects. */
const join = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.onExit(
    Effect.callback<A, E>((resume) => Effect.sync(fiber.addObserver(resume))),
    (exit) => {
      if (fiber.pollUnsafe() !== undefined) return Effect.void
      const interrupt = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isInterruptReason) : undefined
      // The annotations say why the request ends: its finalizers read them.
      fiber.interruptUnsafe(interrupt?.fiberId, interrupt && Context.makeUnsafe(interrupt.annotations))
      return Effect.flatMap(Fiber.await(fiber), (exit) => {
        const dies = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
        return dies.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons(dies))
      })
    }
  )
