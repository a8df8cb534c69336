/** Calls of several functions, such as observers, none of which keeps the later ones from being called. */
import { isPromiseLike } from "./callback.ts"

/**
 * Calls each one, also after one that throws; then throws as the first of those did. Returns a promise of the promises that they return,
 * which a function of JavaScript may.
 */
export const callEach = <A>(all: Iterable<A>, call: (one: A) => unknown): unknown => {
  const thrown: Array<unknown> = []
  const promised: Array<PromiseLike<unknown>> = []
  for (const one of all) {
    try {
      const returned = call(one)
      if (isPromiseLike(returned)) promised.push(returned)
    } catch (error) {
      thrown.push(error)
    }
  }
  if (promised.length === 0 && thrown.length === 0) return undefined
  const together = Promise.all(promised)
  if (thrown.length === 0) return together
  together.catch(() => {})
  throw thrown[0]
}
