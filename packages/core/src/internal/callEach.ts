/** Calls several functions, such as observers. If one fails, the others are still called. */
import { isPromiseLike } from "./callback.ts"

/**
 * Calls each function even if one throws, then throws the first error. If functions return promises, which JavaScript allows, returns a
 * promise for all of them.
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
