/** Suggests a name for a misspelt one. */

/** Returns the name closest to the typed one, or `undefined` if none is close. A longer form of a name (`inputSchema` of `input`) is close. */
export const closest = (typed: string, names: ReadonlyArray<string>): string | undefined => {
  const most = Math.max(1, Math.floor(typed.length / 3))
  const ranked = names
    .map((name) => ({ name, far: distance(typed.toLowerCase(), name.toLowerCase(), most) }))
    .filter(({ far }) => far <= most)
    .toSorted((one, other) => one.far - other.far)
  const begun = (name: string): boolean => name.length > 2 && typed.toLowerCase().startsWith(name.toLowerCase())
  return ranked[0]?.name ?? names.find(begun)
}

/** Insertions, deletions and replacements that lead from one text to the other; more than `most` need not be exact. */
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
