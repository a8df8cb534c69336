/** Failures beside any answer: what a program's `onerror` is told. */

export type OnError = ((error: Error) => void) | undefined

export const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** Tells a program of a failure. What its `onerror` throws is dropped: it must not change an answer. */
export const report = (onerror: OnError, thrown: unknown): void => {
  try {
    onerror?.(errorOf(thrown))
  } catch {}
}
