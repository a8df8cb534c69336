/**
 * The service that proves an access token authentic and reads its claims: by keys (`JwtVerifier`), by asking the authorization server
 * (`Introspection`), or by an implementation of the application.
 *
 * Owns the interface and its errors. `Auth` checks the claims (issuer, audience, time, scopes) for every verifier alike.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/** Claims of a token, by the names of RFC 7519, RFC 9068 and RFC 7662. */
export interface Claims {
  readonly [claim: string]: unknown
}

interface Failure {
  /** The check that failed. */
  readonly step: string
  readonly expected: string
  readonly found: string
  /** What the client or the operator can do. */
  readonly remedy: string
}

const sentence = ({ expected, found, remedy, step }: Failure): string =>
  `${step}: expected ${expected}, found ${found}. ${remedy}`

/** The token is refused: 401 with this message as `error_description`. It never holds any part of the token. */
export class InvalidToken extends Data.TaggedError("InvalidToken")<Failure> {
  override get message(): string {
    return sentence(this)
  }
}

/** The token could not be verified now: 503 for the client, and the message in the log of the server. */
export class VerifierUnavailable extends Data.TaggedError("VerifierUnavailable")<Failure & { readonly url: string }> {
  override get message(): string {
    return `${this.url}: ${sentence(this)}`
  }
}

/** The resource and its issuers, by which a verifier chooses keys or an endpoint. */
export interface Expected {
  /** The issuers of the resource, exactly as their metadata name them. */
  readonly issuers: ReadonlyArray<string>
  readonly resource: string
}

/**
 * Verifies tokens: gives the claims of an authentic one, and fails for any other.
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
 *             found: "another",
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

/** A value of another party as a message shows it: text or JSON on one line, at most 200 characters, escaped. */
export const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  return excerpt(typeof value === "string" ? value : (JSON.stringify(value) ?? typeof value))
}

/** The same claims, deeply frozen: several requests share them. */
export const frozen = <A>(claims: A): A => {
  if (typeof claims !== "object" || claims === null) return claims
  for (const value of Object.values(claims)) frozen(value)
  return Object.freeze(claims)
}
