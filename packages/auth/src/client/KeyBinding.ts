/**
 * Decides whether to bind tokens to a key (DPoP, RFC 9449), and to which key.
 *
 * The decision depends on the `dpop` option, the protected resource's metadata and the authorization server's metadata.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Metadata from "../shared/Metadata.ts"
import { OAuthError, listed } from "../shared/OAuthError.ts"
import * as Dpop from "./Dpop.ts"
import type * as Stored from "./Stored.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

/** The option that decides when tokens are bound to a key; see `OAuth.Options`. */
export interface Options {
  readonly dpop: "auto" | "prefer" | "require" | "never"
  readonly nonces: Dpop.Nonces
}

/** True if tokens for this resource must be bound to a key. */
const isRequired = ({ dpop }: Options, resource: Metadata.ProtectedResource | undefined): boolean =>
  dpop === "require" || (dpop !== "never" && resource?.dpop_bound_access_tokens_required === true)

/** True if stored tokens may be used for this resource. */
export const isAcceptable = (
  options: Options,
  { tokenType }: Stored.Tokens,
  resource?: Metadata.ProtectedResource
): boolean => tokenType === "DPoP" || !isRequired(options, resource)

/** Binds new tokens to the stored key, or to a new key. Returns `undefined` if tokens should not be bound. */
export const bindingFor = Effect.fnUntraced(function* (
  options: Options,
  issuer: Metadata.AuthorizationServer,
  resource: Metadata.ProtectedResource | undefined,
  stored: Redacted.Redacted<string> | undefined
): Effect.fn.Return<TokenEndpoint.Binding | undefined, OAuthError> {
  const { nonces, dpop } = options
  const required = isRequired(options, resource)
  if (stored !== undefined) return { key: yield* Dpop.restore(stored), nonces, required }
  const accepted = resource?.dpop_signing_alg_values_supported
  if (dpop === "never" || (!required && dpop === "auto" && accepted === undefined)) return undefined
  const offered = issuer.dpop_signing_alg_values_supported
  const algorithm = Dpop.choose(offered?.filter((name) => accepted === undefined || accepted.includes(name)))
  if (algorithm !== undefined) return { key: yield* Dpop.generate(algorithm), nonces, required }
  if (!required) return undefined
  return yield* new OAuthError({
    step: "server-metadata",
    problem: "tokens must be bound to a key (DPoP), which the authorization server does not support",
    url: excerpt(issuer.issuer),
    expected: "`dpop_signing_alg_values_supported` with ES256",
    found: listed(offered)
  })
})
