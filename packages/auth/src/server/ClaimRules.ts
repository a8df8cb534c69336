/**
 * Decides whether a token with verified claims may access this resource, based on its issuer, audience, times and subject.
 *
 * Owns the rules, which are the same for every verifier, and converts claims into a `Principal`. The verifier has already checked that the
 * claims are authentic.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import { type Claims, InvalidToken, shown } from "./TokenVerifier.ts"

/** Values that a token's claims must match. */
export interface ExpectedClaims {
  readonly issuers: ReadonlyArray<string>
  /** Accepted audiences. A token must name at least one. */
  readonly audiences: ReadonlyArray<string>
  /** Maximum difference between the issuer's clock and this server's, in seconds. */
  readonly skew: number
}

const remedy = {
  audience: "Ask the authorization server for a token with this server as its `resource` (RFC 8707).",
  renew: "Get a new token from the authorization server."
}

const invalid = (step: string, expected: string, found: unknown, advice = remedy.renew) =>
  new InvalidToken({ step, expected, found: shown(found), remedy: advice })

/** True if two URIs name the same resource. Ignores the case of the scheme and host, and a trailing slash on an empty path. */
export const sameResource = (one: string, other: string): boolean => {
  if (one === other) return true
  if (!URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}

const strings = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

/** Returns the scopes from `scope` (RFC 8693 section 4.2, RFC 7662 section 2.2), or from `scp`, which some issuers use instead. */
export const scopesOf = ({ scope, scp }: Claims): ReadonlyArray<string> =>
  strings(scope ?? scp).flatMap((words) => words.split(" ").filter((word) => word !== ""))

/** Returns the principal that the claims describe, or the reason for rejecting the token. `now` is in seconds since 1970. */
export const admit = (claims: Claims, rules: ExpectedClaims, now: number): Principal["Service"] | InvalidToken => {
  const { aud, client_id, exp, iss, nbf, sub } = claims
  if (typeof iss !== "string" || !rules.issuers.includes(iss)) {
    return invalid("Invalid issuer", rules.issuers.join(" or "), iss)
  }
  if (!strings(aud).some((audience) => rules.audiences.some((own) => sameResource(own, audience)))) {
    return invalid("Invalid audience", rules.audiences.join(" or "), aud, remedy.audience)
  }
  if (exp !== undefined && !(typeof exp === "number" && now < exp + rules.skew)) {
    return invalid("Invalid expiration time", `a time after ${now}`, exp)
  }
  if (nbf !== undefined && !(typeof nbf === "number" && now >= nbf - rules.skew)) {
    return invalid("Token not yet valid", `a time no later than ${now}`, nbf)
  }
  const subject = typeof sub === "string" && sub !== "" ? sub : client_id
  if (typeof subject !== "string" || subject === "") return invalid("Missing subject", "sub or client_id", sub)
  return { subject, scopes: scopesOf(claims), claims }
}
