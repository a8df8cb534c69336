/** Sets of scopes as a client requests them: ordered lists without duplicates (RFC 6749 section 3.3). */

/** Names of scopes; case matters. */
export type Scopes = ReadonlyArray<string>

/** The scopes of a space-separated list. */
export const parse = (text: string): Scopes => [...new Set(text.split(" ").filter((scope) => scope !== ""))]

/** The scopes of all sets, in the order of their first occurrence. */
export const union = (...sets: ReadonlyArray<Scopes | undefined>): Scopes => [
  ...new Set(sets.flatMap((set) => set ?? []))
]

/** Whether everything in `needed` is in `have`. */
export const covers = (have: Scopes, needed: Scopes): boolean => needed.every((scope) => have.includes(scope))

/**
 * The scopes to request: those of before, those of the challenge or else of the resource metadata, and those of the application. Undefined
 * where there are none, which leaves them to the authorization server (spec: basic/authorization, scope selection).
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
