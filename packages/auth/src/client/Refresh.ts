/** New tokens by a refresh token (OAuth 2.1 section 4.3); a refusal of the authorization server is no error, but the end of that token. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import type { Tokens } from "./Stored.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import type { TokenStore } from "./TokenStore.ts"

/** New tokens; undefined where there is no refresh token, or where the authorization server refuses it. */
export const refresh = Effect.fnUntraced(function* <R>(
  grant: Grant<R>,
  request: GrantRequest,
  stored: Tokens
): Effect.fn.Return<Tokens | undefined, OAuthError, R | TokenStore> {
  if (stored.refreshToken === undefined) return undefined
  const credentials = yield* grant.credentials(request, stored)
  if (credentials === undefined) return undefined
  const parameters = {
    grant_type: "refresh_token",
    refresh_token: Redacted.value(stored.refreshToken),
    resource: request.resource
  }
  const fresh = yield* TokenEndpoint.tokens(request, credentials, parameters, stored.requested).pipe(
    Effect.catchIf(
      // Only an error code of OAuth ends the refresh token: a 400 without one may be a proxy's.
      ({ code, status }) => code !== undefined && (status === 400 || status === 401),
      ({ code }) =>
        Effect.as(code === "invalid_client" ? grant.forget(request.metadata.issuer) : Effect.void, undefined)
    )
  )
  // Without rotation the old refresh token stays valid; without `scope` the granted scopes are the former ones.
  return fresh === undefined ? undefined : { ...pick(stored, "refreshToken"), ...pick(stored, "granted"), ...fresh }
})

/** One optional field of tokens, if it is there. */
const pick = (tokens: Tokens, name: "refreshToken" | "granted") =>
  tokens[name] === undefined ? undefined : { [name]: tokens[name] }
