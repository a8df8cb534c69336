/**
 * Calls a program's callbacks safely and reports failures that cannot be sent in a response. A callback may throw, reject, or throw a value
 * whose members throw.
 */

export type OnError = ((error: Error) => void) | undefined

/** Returns the text of a thrown value. Never throws. */
export const messageOf = (thrown: unknown): string => {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown
    return String(message)
  } catch {
    return "The program threw a value whose message cannot be read"
  }
}

/** Returns a thrown value as an error whose message is safe to read. Never throws. */
export const errorOf = (thrown: unknown): Error => {
  try {
    if (thrown instanceof Error && typeof thrown.message === "string") return thrown
  } catch {}
  return new Error(messageOf(thrown))
}

const isThenable = (u: unknown): u is PromiseLike<unknown> =>
  typeof u === "object" && u !== null && "then" in u && typeof u.then === "function"

/** Calls a callback without waiting for it. `failed` receives the value that it throws or rejects with. */
export const notify = (callback: () => unknown, failed: (thrown: unknown) => void): void => {
  try {
    const result = callback()
    if (isThenable(result)) result.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}

/** Reports a failure to the program. Errors thrown by `onerror` are dropped, because they must not change an answer. */
export const report = (onerror: OnError, thrown: unknown): void =>
  notify(
    () => onerror?.(errorOf(thrown)),
    () => undefined
  )
