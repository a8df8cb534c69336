/** Sets of scopes, as the lists that travel: in order, without doubles (RFC 6749 section 3.3). */

/** Names of scopes; case matters. */
export type Scopes = ReadonlyArray<string>

/** The scopes of a space-separated list. */
export const parse = (text: string): Scopes => [...new Set(text.split(" ").filter((scope) => scope !== ""))]

/** All scopes of all sets, in order of first mention. */
export const union = (...sets: ReadonlyArray<Scopes | undefined>): Scopes => [
  ...new Set(sets.flatMap((set) => set ?? []))
]

/** Whether everything in `needed` is in `have`. */
export const covers = (have: Scopes, needed: Scopes): boolean => needed.every((scope) => have.includes(scope))

/**
 * What to ask for: what the server says that the request needs, beside what was asked for before; else what the resource says is enough
 * to begin with; else nothing, which leaves it to the authorization server (undefined).
 */
export const select = (options: {
  readonly before: Scopes
  readonly challenged: Scopes | undefined
  readonly supported: Scopes | undefined
  /** Scopes that the application wants in any case. */
  readonly wanted: Scopes
}): Scopes | undefined => {
  const scopes = union(options.before, options.challenged ?? options.supported, options.wanted)
  return scopes.length === 0 ? undefined : scopes
}
