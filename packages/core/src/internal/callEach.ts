/** Calls of several functions, such as observers, none of which keeps the later ones from being called. */

/** Calls each one, also after one that throws; then throws as the first of those did. */
export const callEach = <A>(all: Iterable<A>, call: (one: A) => void): void => {
  const thrown: Array<unknown> = []
  for (const one of all) {
    try {
      call(one)
    } catch (error) {
      thrown.push(error)
    }
  }
  if (thrown.length > 0) throw thrown[0]
}
