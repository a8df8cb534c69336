/** Suggests a name for a misspelled one. */

/**
 * Returns the name closest to the input, or `undefined` if no name is close. A longer form of a name (`inputSchema` for `input`) counts as
 * close.
 */
export const closest = (typed: string, names: ReadonlyArray<string>): string | undefined => {
  const most = Math.max(1, Math.floor(typed.length / 3))
  const ranked = names
    .map((name) => ({ name, far: distance(typed.toLowerCase(), name.toLowerCase(), most) }))
    .filter(({ far }) => far <= most)
    .toSorted((one, other) => one.far - other.far)
  const begun = (name: string): boolean => name.length > 2 && typed.toLowerCase().startsWith(name.toLowerCase())
  return ranked[0]?.name ?? names.find(begun)
}

/** Counts the insertions, deletions and replacements between two strings. Results above `most` may be inexact. */
const distance = (from: string, to: string, most: number): number => {
  if (Math.abs(from.length - to.length) > most) return most + 1
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let at = 0; at < from.length; at++) {
    const next = [at + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (row[column] ?? 0) + (from[at] === to[column] ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? most + 1
}
