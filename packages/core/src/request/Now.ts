/**
 * Handlers that run while their request is being looked at: the fast path of those that take steps but wait for nothing, as most do.
 *
 * Such a handler is one fiber that has ended before it is asked about, and its exit takes the way of what is done already (`Done`). One
 * that waits goes on in its fiber, and what it comes to is an effect as any other: interrupting that interrupts the fiber.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Principal } from "../transport/Principal.ts"

/** A request that is answered now: by whoever runs what its handler comes to right away. */
export interface Now {
  readonly principal: Principal["Service"]
  /** Runs a handler as far as it goes, with the request's services over what `change` makes of the services below them. */
  readonly start: <A, E, R>(
    handler: Effect.Effect<A, E, R>,
    change: (base: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>
  ) => Effect.Effect<A, E>
}

/** Runs `effect` in a fiber of its own, as far as it goes: its exit, or an effect that waits for that, and has to be run. */
export const start = <A, E, R>(effect: Effect.Effect<A, E, R>, context: Context.Context<R>): Effect.Effect<A, E> => {
  const fiber = Effect.runForkWith(context)(effect)
  return fiber.pollUnsafe() ?? join(fiber)
}

/** The fiber's exit, whatever becomes of who waits for it: what finalizers fail with must not be lost. */
const join = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.onExit(
    Effect.callback<A, E>((resume) => Effect.sync(fiber.addObserver(resume))),
    (exit) => {
      if (fiber.pollUnsafe() !== undefined) return Effect.void
      const interrupt = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isInterruptReason) : undefined
      // Why it ends is for its finalizers to see.
      fiber.interruptUnsafe(interrupt?.fiberId, interrupt && Context.makeUnsafe(interrupt.annotations))
      return Effect.flatMap(Fiber.await(fiber), (exit) => {
        const dies = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
        return dies.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons(dies))
      })
    }
  )
