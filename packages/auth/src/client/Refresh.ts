/** Refreshes tokens (OAuth 2.1 section 4.3). A rejected refresh token is not an error; it is simply no longer used. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import type { Tokens } from "./Stored.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import type { TokenStore } from "./TokenStore.ts"

/** Returns new tokens, or `undefined` if there is no refresh token or the authorization server rejects it. */
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
      // Only an OAuth error code invalidates the refresh token: a 400 without one may come from a proxy.
      ({ code, status }) => code !== undefined && (status === 400 || status === 401),
      ({ code }) =>
        Effect.as(code === "invalid_client" ? grant.forget(request.metadata.issuer) : Effect.void, undefined)
    )
  )
  // Without rotation the old refresh token stays valid. Without `scope` in the answer the granted scopes stay the same.
  return fresh === undefined ? undefined : { ...pick(stored, "refreshToken"), ...pick(stored, "granted"), ...fresh }
})

/** Returns an object with one optional field of the tokens, or `undefined` if the field is absent. */
const pick = (tokens: Tokens, name: "refreshToken" | "granted") =>
  tokens[name] === undefined ? undefined : { [name]: tokens[name] }
