/**
 * The boundary to callbacks of the program: whatever a callback returns or throws, it must not crash the process.
 */
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { messageOf } from "./ErrorTranslation.ts"

export const isThenable = <A>(value: A | PromiseLike<A>): value is PromiseLike<A> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** Marks a promise as handled, so that its rejection does not crash a program that never awaits it. */
export const handled = <A>(promise: Promise<A>): Promise<A> => {
  promise.catch(() => {})
  return promise
}

/** Calls a callback without waiting for its result. Passes anything it throws or rejects with to `failed`. */
export const notify = (callback: () => unknown, failed: (thrown: unknown) => void): void => {
  try {
    const result = callback()
    if (isThenable(result)) result.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}

/** Logs a failure to stderr if neither a caller nor `onError` receives it. */
export const print = (what: string, thrown: unknown): void =>
  Effect.runSync(Effect.provideService(Effect.logError(`${what}: ${messageOf(thrown)}`), Logger.LogToStderr, true))
