/**
 * Lets code inside a request turn the HTTP response into a challenge.
 *
 * Owns the notes, keyed by the identity of the request's principal, so that they are collected along with it. Without HTTP, nothing reads
 * them.
 */
import type { Principal } from "@effect-mcp/core/Principal"

/** Authentication or scopes that a request lacked. */
export interface Need {
  readonly authentication: boolean
  /** All scopes that the request needs, including granted ones. */
  readonly scopes: ReadonlyArray<string>
}

const notes = new WeakMap<Principal["Service"], Need>()

/** Adds a need to a principal's note. A batch's messages share one note. */
export const note = (principal: Principal["Service"], need: Need): void => {
  const before = notes.get(principal)
  notes.set(principal, {
    authentication: need.authentication || before?.authentication === true,
    scopes: [...new Set([...(before?.scopes ?? []), ...need.scopes])]
  })
}

/** Returns a principal's note, or `undefined` if its request lacked nothing. */
export const noted = (principal: Principal["Service"]): Need | undefined => notes.get(principal)
