/**
 * Effects that have already completed.
 *
 * An `Exit` is an Effect with nothing left to do. It needs no fiber, services or finalizers, so a request whose effect is an `Exit`
 * receives its response immediately.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const success: unknown = Object.getPrototypeOf(Exit.void)
const failure: unknown = Object.getPrototypeOf(Exit.fail(undefined))

/**
 * Like `Exit.isExit`, but cheaper. `Exit.isExit` looks up a name in values of any shape, which takes 30 ns and happens a dozen times per
 * request.
 */
const isExit = (effect: unknown): boolean => {
  // In JavaScript, this may not be an effect at all.
  if (typeof effect !== "object" || effect === null) return false
  const prototype: unknown = Object.getPrototypeOf(effect)
  return prototype === success || prototype === failure || Exit.isExit(effect)
}

/** Returns the exit of an effect that has already completed, or `undefined` if the effect has to run. */
export const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Exit<A, E> | undefined =>
  // An Exit among the effects of these types has these types.
  isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/** Returns the effect `make` returns, outside of any fiber. If `make` throws, returns an effect that dies with the error. */
export const attempt = <A, E, R>(make: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return make()
  } catch (defect) {
    return Effect.die(defect)
  }
}

/**
 * Runs `effect` uninterruptibly in a separate fiber and returns its exit. Interrupting the caller interrupts that fiber and waits for it.
 * The annotations, which tell finalizers why the request is ending, are passed on.
 */
export const inOwnFiber = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const fiber = Effect.runForkWith(context)(effect, { uninterruptible: true })
    return fiber.pollUnsafe() ?? join(fiber)
  })

/** Returns the fiber's exit. On interruption, waits for the fiber's finalizers and keeps their defects. */
const join = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.onExit(
    Effect.callback<A, E>((resume) => Effect.sync(fiber.addObserver(resume))),
    (exit) => {
      if (fiber.pollUnsafe() !== undefined) return Effect.void
      const interrupt = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isInterruptReason) : undefined
      // The annotations tell finalizers why the request is ending.
      fiber.interruptUnsafe(interrupt?.fiberId, interrupt && Context.makeUnsafe(interrupt.annotations))
      return Effect.flatMap(Fiber.await(fiber), (exit) => {
        const dies = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
        return dies.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons(dies))
      })
    }
  )
