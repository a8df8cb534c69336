/**
 * Notes by which code inside a request turns its HTTP response into a challenge, kept for the principal of that request.
 *
 * Owns the notes, by the identity of the principal: without an HTTP request no guard reads them, and they go with the principal.
 */
import type { Principal } from "@effect-mcp/core/Principal"

/** What a refused request lacked: authentication, or scopes. */
export interface Need {
  readonly authentication: boolean
  /** All scopes that the operation needs, granted ones included. */
  readonly scopes: ReadonlyArray<string>
}

const notes = new WeakMap<Principal["Service"], Need>()

/** Adds to the note of a principal; the needs of all messages of a batch add up. */
export const note = (principal: Principal["Service"], need: Need): void => {
  const before = notes.get(principal)
  notes.set(principal, {
    authentication: need.authentication || before?.authentication === true,
    scopes: [...new Set([...(before?.scopes ?? []), ...need.scopes])]
  })
}

/** The note of a principal; undefined where its request lacked nothing. */
export const noted = (principal: Principal["Service"]): Need | undefined => notes.get(principal)
