/**
 * What proves that an access token is authentic, and reads its claims: keys (`JwtVerifier`), or the authorization server itself
 * (`Introspection`), or something of the user's own.
 *
 * Owns the vocabulary. Whether the claims admit the caller (issuer, audience, time, scopes) is not the verifier's matter: `Auth` checks
 * them for every verifier alike.
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
  /** What was being done. */
  readonly step: string
  readonly expected: string
  readonly found: string
  /** What to do about it. */
  readonly remedy: string
}

const sentence = ({ expected, found, remedy, step }: Failure): string =>
  `${step}: expected ${expected}, found ${found}. ${remedy}`

/** The token does not admit its bearer. Never holds any part of the token; the client is told the message. */
export class InvalidToken extends Data.TaggedError("InvalidToken")<Failure> {
  override get message(): string {
    return sentence(this)
  }
}

/** The token could not be verified, which is not the client's fault. The client is told nothing; the server's log is. */
export class VerifierUnavailable extends Data.TaggedError("VerifierUnavailable")<Failure & { readonly url: string }> {
  override get message(): string {
    return `${this.url}: ${sentence(this)}`
  }
}

/** What the claims will be checked against; a verifier may need it to know whom to ask. */
export interface Expected {
  /** The authorization servers of the resource, exactly as they call themselves. */
  readonly issuers: ReadonlyArray<string>
  readonly resource: string
}

/** Says what an authentic token claims; fails on any other. */
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

/** The same claims, which nobody can change any more: requests share what is remembered. */
export const frozen = <A>(claims: A): A => {
  if (typeof claims !== "object" || claims === null) return claims
  for (const value of Object.values(claims)) frozen(value)
  return Object.freeze(claims)
}
