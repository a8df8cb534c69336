/**
 * How code inside a request has its HTTP response become a challenge: a note on the very principal that the request came with.
 *
 * Owns the notes. They are kept by identity, so they cost nothing where no HTTP request is behind a principal: then nobody reads them.
 */
import type { Principal } from "@effect-mcp/core/Principal"

/** What a request would have needed: to be authenticated at all, or more scopes. */
export interface Need {
  readonly authentication: boolean
  /** All that this operation needs. */
  readonly scopes: ReadonlyArray<string>
}

const notes = new WeakMap<Principal["Service"], Need>()

/** Notes what was lacking. Of several messages in one request, all needs count. */
export const note = (principal: Principal["Service"], need: Need): void => {
  const before = notes.get(principal)
  notes.set(principal, {
    authentication: need.authentication || before?.authentication === true,
    scopes: [...new Set([...(before?.scopes ?? []), ...need.scopes])]
  })
}

/** What was lacking in the request of this principal, if anything was. */
export const noted = (principal: Principal["Service"]): Need | undefined => notes.get(principal)
