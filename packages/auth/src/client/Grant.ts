/**
 * The interface of grants, as `AuthorizationCode`, `ClientCredentials`, `EnterpriseManaged` and `WorkloadIdentity` implement it.
 *
 * A grant gets tokens for one resource from one authorization server. `Access` decides when, and stores them.
 */
import type * as Effect from "effect/Effect"
import type * as ClientIdentity from "./ClientIdentity.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Scopes } from "./Scopes.ts"
import type { Tokens } from "./Stored.ts"
import type { TokenStore } from "./TokenStore.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

/** The tokens to get: resource, scopes and authorization server. */
export interface GrantRequest extends TokenEndpoint.TokenTarget {
  /** The value of `resource`; undefined for a server of 2025-03-26. */
  readonly resource: string | undefined
  /** Undefined leaves the scopes to the authorization server. */
  readonly scopes: Scopes | undefined
}

/** Gets tokens; `R` is what the grant needs of the application, such as `Authorizer`. */
export interface Grant<R = never> {
  /** The client id, where the grant has only one: other clients that share the store do not use its tokens. */
  readonly clientId?: string | undefined
  /** Gets new tokens. */
  readonly obtain: (request: GrantRequest) => Effect.Effect<Tokens, OAuthError, R | TokenStore>
  /** The credentials by which these tokens are refreshed and revoked; undefined if they are void. */
  readonly credentials: (
    request: GrantRequest,
    tokens: Pick<Tokens, "clientId" | "registration">
  ) => Effect.Effect<ClientIdentity.Known | undefined, OAuthError, R | TokenStore>
  /** Forgets the registration at an issuer that does not know the client any more. */
  readonly forget: (issuer: string) => Effect.Effect<void, OAuthError, R | TokenStore>
  /** Whether this issuer is preferred among several authorization servers of one resource. */
  readonly prefers: (issuer: string) => boolean
}
