/**
 * Verifies access tokens and reads their claims. `JwtVerifier` checks signatures, `Introspection` asks the authorization server, and
 * applications can provide their own implementation.
 *
 * Defines the interface and its errors. Whichever verifier returns the claims, `Auth` checks the issuer, audience, times and scopes.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/** A token's claims, with the names from RFC 7519, RFC 9068 and RFC 7662. */
export interface Claims {
  readonly [claim: string]: unknown
}

interface Failure {
  /** Which check failed. */
  readonly step: string
  readonly expected: string
  readonly found: string
  /** Suggested fix for the client or the operator. */
  readonly remedy: string
}

const sentence = ({ expected, found, remedy, step }: Failure): string =>
  `${step}: expected ${expected}, found ${found}. ${remedy}`

/** A rejected token. The client receives a 401 with this message as `error_description`, so it must not contain any part of the token. */
export class InvalidToken extends Data.TaggedError("InvalidToken")<Failure> {
  override get message(): string {
    return sentence(this)
  }
}

/** The token cannot be verified right now. The client receives a 503, and the message is logged on the server. */
export class VerifierUnavailable extends Data.TaggedError("VerifierUnavailable")<Failure & { readonly url: string }> {
  override get message(): string {
    return `${this.url}: ${sentence(this)}`
  }
}

/** The protected resource and its issuers. A verifier uses them to choose keys or an endpoint. */
export interface Expected {
  /** Accepted issuers, spelled exactly as in their metadata. */
  readonly issuers: ReadonlyArray<string>
  readonly resource: string
}

/**
 * Verifies access tokens. `verify` returns an authentic token's claims. It fails with `InvalidToken` for any other token, or with
 * `VerifierUnavailable` if the token cannot be checked at the moment.
 *
 * @example
 * ```ts
 * import { TokenVerifier } from "@effect-mcp/auth"
 * import { Effect, Layer, Redacted } from "effect"
 *
 * export const fixed = Layer.succeed(TokenVerifier.TokenVerifier, {
 *   verify: (token, { issuers, resource }) =>
 *     Redacted.value(token) === "secret"
 *       ? Effect.succeed({ iss: issuers[0], aud: resource, sub: "alice", scope: "files:read" })
 *       : Effect.fail(
 *           new TokenVerifier.InvalidToken({
 *             step: "Looking up the token",
 *             expected: "a known token",
 *             found: "an unknown token",
 *             remedy: "Get a token from the operator."
 *           })
 *         )
 * })
 * ```
 */
export class TokenVerifier extends Context.Service<
  TokenVerifier,
  {
    readonly verify: (
      token: Redacted.Redacted<string>,
      expected: Expected
    ) => Effect.Effect<Claims, InvalidToken | VerifierUnavailable>
  }
>()("@effect-mcp/auth/TokenVerifier") {}

/** Formats a value from another party for a message: text or JSON, escaped, on one line, truncated to 200 characters. */
export const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  return excerpt(typeof value === "string" ? value : (JSON.stringify(value) ?? typeof value))
}

/** Deeply freezes claims, because requests with the same token share them. */
export const frozen = <A>(claims: A): A => {
  if (typeof claims !== "object" || claims === null) return claims
  for (const value of Object.values(claims)) frozen(value)
  return Object.freeze(claims)
}
