/** Calls functions of the program from code that must go on whatever they do, such as the reader of a connection. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** Whether it is a promise, of any library. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** Returns the text of a cause for a log. Never throws, also for a thrown value whose members throw. */
export const textOf = (cause: Cause.Cause<unknown>): string => {
  try {
    return Cause.pretty(cause)
  } catch {
    return "The program threw a value whose message cannot be read"
  }
}

/**
 * Returns the effect that a function of the program returned. Any other value, as JavaScript may return, becomes a defect: as an effect it would
 * end its fiber without finalizers. A promise that rejects would end the process.
 */
export const checkedEffect = <A, E, R>(name: string, returned: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (Effect.isEffect(returned)) return returned
  const value: unknown = returned
  const isPromise = isPromiseLike(value)
  if (isPromise) value.then(undefined, () => {})
  return Effect.die(
    new TypeError(
      isPromise
        ? `${name} returned a promise, but an Effect is expected: use Effect.tryPromise`
        : `${name} returned ${value === null ? "null" : typeof value}, but an Effect is expected`
    )
  )
}

/** Runs the effect that a function of the program returns; see `checkedEffect`. An error that it throws is a defect. */
export const effectOf = <A, E, R>(name: string, call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => checkedEffect(name, call()))

/** Calls a function of the program. An error that it throws, or a promise that it returns rejects with, is logged by `fork`. */
export const callback = (name: string, fork: (log: Effect.Effect<void>) => unknown, call: () => unknown): void => {
  const failed = (error: unknown): void => void fork(Effect.logWarning(`${name} failed: ${textOf(Cause.die(error))}`))
  try {
    const returned = call()
    if (isPromiseLike(returned)) returned.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
