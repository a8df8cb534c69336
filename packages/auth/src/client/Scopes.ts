/** Sets of scopes as a client requests them: ordered lists without duplicates (RFC 6749 section 3.3). */

/** Scope names; case-sensitive. */
export type Scopes = ReadonlyArray<string>

/** Parses a space-separated list of scopes. */
export const parse = (text: string): Scopes => [...new Set(text.split(" ").filter((scope) => scope !== ""))]

/** Merges sets of scopes, in order of first occurrence. */
export const union = (...sets: ReadonlyArray<Scopes | undefined>): Scopes => [
  ...new Set(sets.flatMap((set) => set ?? []))
]

/** True if `have` contains everything in `needed`. */
export const covers = (have: Scopes, needed: Scopes): boolean => needed.every((scope) => have.includes(scope))

/**
 * Returns the scopes to request: earlier ones, then those in the challenge or else in the resource metadata, then the application's.
 * Returns `undefined` if there are none, in which case the authorization server decides (spec: basic/authorization, scope selection).
 */
export const select = (options: {
  readonly before: Scopes
  readonly challenged: Scopes | undefined
  readonly supported: Scopes | undefined
  /** Scopes that the application always requests. */
  readonly wanted: Scopes
}): Scopes | undefined => {
  const scopes = union(options.before, options.challenged ?? options.supported, options.wanted)
  return scopes.length === 0 ? undefined : scopes
}
