/** Stores an authenticated caller's `AuthInfo` as a claim of the principal that the underlying server uses. */
import type { Principal } from "@effect-mcp/core/Principal"
import type { AuthInfo } from "../model/types.ts"

const original: unique symbol = Symbol("@effect-mcp/compat/AuthInfo")

interface Authenticated {
  readonly [original]: AuthInfo
}

const isAuthenticated = (principal: object | undefined): principal is Authenticated =>
  principal !== undefined && original in principal

/** Returns the principal of a caller. Sessions belong to its client id. */
export const principalOf = (auth: AuthInfo | null | undefined): Principal["Service"] | undefined => {
  if (auth === undefined || auth === null) return undefined
  const principal = { subject: auth.clientId, scopes: auth.scopes, claims: { ...auth.extra }, [original]: auth }
  return principal
}

/** Returns the `AuthInfo` that a principal was created from. */
export const authOfPrincipal = (principal: object | undefined): AuthInfo | undefined =>
  isAuthenticated(principal) ? principal[original] : undefined

/** Returns the `AuthInfo` of a request. */
export const authOf = ({ envelope }: { readonly envelope: { readonly principal?: object | undefined } }) =>
  authOfPrincipal(envelope.principal)
