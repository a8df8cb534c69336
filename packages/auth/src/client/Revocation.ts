/** Revokes tokens at their authorization server (RFC 7009). */
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as ClientIdentity from "./ClientIdentity.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import * as Fetch from "../shared/Fetch.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Tokens } from "./Stored.ts"
import type { TokenStore } from "./TokenStore.ts"

/** Revokes the refresh token and its access token. Does nothing if the metadata has no `revocation_endpoint`. */
export const revoke = Effect.fnUntraced(function* <R>(
  request: GrantRequest,
  grant: Grant<R>,
  tokens: Tokens
): Effect.fn.Return<void, OAuthError, R | TokenStore> {
  const { revocation_endpoint } = request.metadata
  const credentials = yield* grant.credentials(request, tokens)
  if (revocation_endpoint === undefined || credentials === undefined) return
  const url = yield* TrustedUrl.check("token", "`revocation_endpoint`", revocation_endpoint, request)
  const send = Effect.fnUntraced(function* (token: Redacted.Redacted<string>, hint: string) {
    const proof = yield* ClientIdentity.prove(credentials, request.metadata)
    const body = { token: Redacted.value(token), token_type_hint: hint, ...proof.parameters }
    yield* Fetch.send(
      request.http,
      "token",
      HttpClientRequest.bodyUrlParams(HttpClientRequest.post(url, { headers: proof.headers }), body)
    )
  })
  if (tokens.refreshToken !== undefined) yield* send(tokens.refreshToken, "refresh_token")
  yield* send(tokens.accessToken, "access_token")
})
