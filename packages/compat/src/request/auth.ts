/** What authenticated a caller, as a claim of the principal that the layers below know. */
import type { Principal } from "@effect-mcp/core/Principal"
import type { AuthInfo } from "../model/types.ts"

const auths = new WeakMap<object, AuthInfo>()

/** The principal of a caller: sessions belong to its client id. */
export const principalOf = (auth: AuthInfo | null | undefined): Principal["Service"] | undefined => {
  if (auth === undefined || auth === null) return undefined
  const principal = { subject: auth.clientId, scopes: auth.scopes, claims: { ...auth.extra } }
  auths.set(principal, auth)
  return principal
}

/** The `AuthInfo` that a principal was made of. */
export const authOfPrincipal = (principal: object | undefined): AuthInfo | undefined =>
  principal && auths.get(principal)

/** The `AuthInfo` of a request. */
export const authOf = ({ envelope }: { readonly envelope: { readonly principal?: object | undefined } }) =>
  authOfPrincipal(envelope.principal)
