/**
 * The interface that `AuthorizationCode`, `ClientCredentials`, `EnterpriseManaged` and `WorkloadIdentity` implement.
 *
 * A grant obtains tokens for one resource from one authorization server. `Access` decides when to use it, and stores the tokens.
 */
import type * as Effect from "effect/Effect"
import type * as ClientIdentity from "./ClientIdentity.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Scopes } from "./Scopes.ts"
import type { Tokens } from "./Stored.ts"
import type { TokenStore } from "./TokenStore.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

/** Which tokens to obtain: the resource, scopes and authorization server. */
export interface GrantRequest extends TokenEndpoint.TokenTarget {
  /** The `resource` parameter, or `undefined` for a 2025-03-26 server. */
  readonly resource: string | undefined
  /** Scopes to request, or `undefined` to let the authorization server decide. */
  readonly scopes: Scopes | undefined
}

/** Obtains tokens. `R` lists the services that the application must provide, such as `Authorizer`. */
export interface Grant<R = never> {
  /** The client ID, if the grant always uses the same one. It keeps the grant's tokens separate from other clients in the same store. */
  readonly clientId?: string | undefined
  /** Obtains new tokens. */
  readonly obtain: (request: GrantRequest) => Effect.Effect<Tokens, OAuthError, R | TokenStore>
  /** Returns the credentials for refreshing and revoking these tokens, or `undefined` if they are no longer valid. */
  readonly credentials: (
    request: GrantRequest,
    tokens: Pick<Tokens, "clientId" | "registration">
  ) => Effect.Effect<ClientIdentity.Known | undefined, OAuthError, R | TokenStore>
  /** Deletes the stored registration for an issuer that no longer recognizes the client. */
  readonly forget: (issuer: string) => Effect.Effect<void, OAuthError, R | TokenStore>
  /** Returns true if this issuer should be preferred when a resource has several authorization servers. */
  readonly prefers: (issuer: string) => boolean
}
