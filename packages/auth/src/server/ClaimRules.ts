/**
 * Whether authentic claims admit their bearer to this resource: issuer, audience, time and scopes, for every verifier alike.
 *
 * Owns the rules, and what becomes of the claims: a `Principal`, named by its subject within its issuer.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import { type Claims, InvalidToken, shown } from "./TokenVerifier.ts"

/** What claims are held against. */
export interface Rules {
  readonly issuers: ReadonlyArray<string>
  /** A token must name one of them. */
  readonly audiences: ReadonlyArray<string>
  /** How far the clocks may differ, in seconds. */
  readonly skew: number
}

const remedy = {
  audience: "Ask the authorization server for a token with this server as its `resource` (RFC 8707).",
  renew: "Get a new token from the authorization server."
}

const invalid = (step: string, expected: string, found: unknown, advice = remedy.renew) =>
  new InvalidToken({ step, expected, found: shown(found), remedy: advice })

/** URIs of resources are the same if they differ in the case of scheme and host, or in the slash of an empty path, only. */
export const sameResource = (one: string, other: string): boolean => {
  if (one === other) return true
  if (!URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}

const strings = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

/** Of `scope` (RFC 8693, RFC 7662), or of `scp`, which some issuers use. */
export const scopesOf = ({ scope, scp }: Claims): ReadonlyArray<string> =>
  strings(scope ?? scp).flatMap((words) => words.split(" ").filter((word) => word !== ""))

/** The caller that the claims name, or why they admit nobody. `now` in seconds. */
export const admit = (claims: Claims, rules: Rules, now: number): Principal["Service"] | InvalidToken => {
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
