/** Calls user-provided functions from code that has to continue no matter what they do, such as a connection's reader. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** True for a promise from any library. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** Formats a cause for a log. Never throws, even if reading the thrown value does. */
export const textOf = (cause: Cause.Cause<unknown>): string => {
  try {
    return Cause.pretty(cause)
  } catch {
    return "Unknown error: the thrown value has no readable message"
  }
}

/** Creates the error for a value that a user-provided function must not return. A rejected promise would end the process. */
export const wrongReturn = (name: string, value: unknown, expected: string): TypeError => {
  const isPromise = isPromiseLike(value)
  if (isPromise) value.then(undefined, () => {})
  return new TypeError(
    `${name} returned ${isPromise ? "a promise" : value === null ? "null" : typeof value}, but ${expected} was expected`
  )
}

/**
 * Returns the effect a user-provided function returned. Any other value, which is only possible in JavaScript, becomes a defect. Run as an
 * effect, it would end its fiber without running finalizers.
 */
export const checkedEffect = <A, E, R>(name: string, returned: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.isEffect(returned)
    ? returned
    : Effect.die(wrongReturn(name, returned, "an Effect, for example from Effect.tryPromise,"))

/**
 * Returns the boolean a user-provided predicate returned. Throws for any other value. A promise, which is possible in JavaScript, would
 * otherwise count as true and admit everyone.
 */
export const checkedBoolean = (name: string, returned: boolean): boolean => {
  if (typeof returned === "boolean") return returned
  throw wrongReturn(name, returned, "a boolean")
}

/** Runs the effect a user-provided function returns; see `checkedEffect`. If the function throws, the error is a defect. */
export const effectOf = <A, E, R>(name: string, call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => checkedEffect(name, call()))

/** Calls a user-provided function. If it throws or returns a promise that rejects, `fork` logs the error. */
export const callback = (name: string, fork: (log: Effect.Effect<void>) => unknown, call: () => unknown): void => {
  const failed = (error: unknown): void => void fork(Effect.logWarning(`${name} failed: ${textOf(Cause.die(error))}`))
  try {
    const returned = call()
    if (isPromiseLike(returned)) returned.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
