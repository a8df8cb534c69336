/**
 * Whether verified claims admit a token to this resource: issuer, audience, time and subject, for every verifier alike.
 *
 * Owns the rules and the `Principal` that admitted claims become. Does not verify signatures: the claims are authentic already.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import { type Claims, InvalidToken, shown } from "./TokenVerifier.ts"

/** What the claims are checked against. */
export interface ExpectedClaims {
  readonly issuers: ReadonlyArray<string>
  /** The audience of a token must name one of them. */
  readonly audiences: ReadonlyArray<string>
  /** How far the clocks of issuer and server may differ, in seconds. */
  readonly skew: number
}

const remedy = {
  audience: "Ask the authorization server for a token with this server as its `resource` (RFC 8707).",
  renew: "Get a new token from the authorization server."
}

const invalid = (step: string, expected: string, found: unknown, advice = remedy.renew) =>
  new InvalidToken({ step, expected, found: shown(found), remedy: advice })

/** Whether two URIs name one resource: they may differ in the case of scheme and host and in the slash of an empty path. */
export const sameResource = (one: string, other: string): boolean => {
  if (one === other) return true
  if (!URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}

const strings = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

/** The scopes of the claim `scope` (RFC 8693 section 4.2, RFC 7662 section 2.2), or of `scp`, which some issuers use. */
export const scopesOf = ({ scope, scp }: Claims): ReadonlyArray<string> =>
  strings(scope ?? scp).flatMap((words) => words.split(" ").filter((word) => word !== ""))

/** The principal that the claims name, or why they are refused. `now` is in seconds since 1970. */
export const admit = (claims: Claims, rules: ExpectedClaims, now: number): Principal["Service"] | InvalidToken => {
  const { aud, client_id, exp, iss, nbf, sub } = claims
  if (typeof iss !== "string" || !rules.issuers.includes(iss)) {
    return invalid("Checking the issuer", rules.issuers.join(" or "), iss)
  }
  if (!strings(aud).some((audience) => rules.audiences.some((own) => sameResource(own, audience)))) {
    return invalid("Checking the audience", rules.audiences.join(" or "), aud, remedy.audience)
  }
  if (exp !== undefined && !(typeof exp === "number" && now < exp + rules.skew)) {
    return invalid("Checking the expiry", `a time after ${now}`, exp)
  }
  if (nbf !== undefined && !(typeof nbf === "number" && now >= nbf - rules.skew)) {
    return invalid("Checking when the token begins", `a time up to ${now}`, nbf)
  }
  const subject = typeof sub === "string" && sub !== "" ? sub : client_id
  if (typeof subject !== "string" || subject === "") return invalid("Reading the subject", "sub or client_id", sub)
  return { subject, scopes: scopesOf(claims), claims }
}
