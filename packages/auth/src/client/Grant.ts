/**
 * A way to get tokens from an authorization server: what `AuthorizationCode`, `ClientCredentials`, `EnterpriseManaged` and
 * `WorkloadIdentity` make.
 *
 * A grant gets tokens for one resource when it is asked; when it is asked, how often, and where the tokens are kept is not its matter.
 */
import type * as Effect from "effect/Effect"
import type * as ClientIdentity from "./ClientIdentity.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Scopes } from "./Scopes.ts"
import type { Tokens } from "./Stored.ts"
import type { TokenStore } from "./TokenStore.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

/** What tokens are wanted, and from whom. */
export interface Request extends TokenEndpoint.Target {
  /** The value of `resource`; undefined for a server of 2025-03-26. */
  readonly resource: string | undefined
  /** Undefined leaves it to the authorization server. */
  readonly scopes: Scopes | undefined
}

export interface Grant<R = never> {
  /** The client, where there is only one: others that share the store do not get its tokens. */
  readonly clientId?: string | undefined
  /** Gets tokens anew. */
  readonly obtain: (request: Request) => Effect.Effect<Tokens, OAuthError, R | TokenStore>
  /** As whom these tokens are refreshed and revoked; undefined if they cannot be any more. */
  readonly credentials: (
    request: Request,
    tokens: Pick<Tokens, "clientId" | "registration">
  ) => Effect.Effect<ClientIdentity.Known | undefined, OAuthError, R | TokenStore>
  /** The authorization server says that it does not know the client: what was registered there is void. */
  readonly forget: (issuer: string) => Effect.Effect<void, OAuthError, R | TokenStore>
  /** Whether it can be used at this issuer: decides between several authorization servers of one resource. */
  readonly prefers: (issuer: string) => boolean
}
