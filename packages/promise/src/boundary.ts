/**
 * The boundary to code of programs: whatever a callback returns or throws, it must not end the process.
 */
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { messageOf } from "./ErrorTranslation.ts"

export const isThenable = <A>(value: A | PromiseLike<A>): value is PromiseLike<A> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** Marks a promise as handled: a program that does not await it does not end by its rejection. */
export const handled = <A>(promise: Promise<A>): Promise<A> => {
  promise.catch(() => {})
  return promise
}

/** Calls a callback whose result nothing waits for. `failed` receives what it throws, or rejects with. */
export const notify = (callback: () => unknown, failed: (thrown: unknown) => void): void => {
  try {
    const result = callback()
    if (isThenable(result)) result.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}

/** Logs a failure that reaches neither a caller nor `onError`, to stderr. */
export const print = (what: string, thrown: unknown): void =>
  Effect.runSync(Effect.provideService(Effect.logError(`${what}: ${messageOf(thrown)}`), Logger.LogToStderr, true))
