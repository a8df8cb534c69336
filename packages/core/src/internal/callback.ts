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
