/**
 * Reads the token from a request's `Authorization` header (RFC 6750 section 2.1, RFC 9449 section 7.1).
 *
 * Owns the grammar. Rejects requests with a token in the query, because queries end up in logs, and ignores tokens in the body.
 */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Redacted from "effect/Redacted"

/** A request's credentials: no token, a malformed header, or one token. */
export type PresentedCredentials =
  | { readonly _tag: "None" }
  | { readonly _tag: "Malformed"; readonly problem: string }
  | {
      readonly _tag: "Token"
      readonly scheme: "Bearer" | "DPoP"
      readonly token: Redacted.Redacted<string>
      /** The unverified `DPoP` header value. */
      readonly proof: string | undefined
    }

const none: PresentedCredentials = { _tag: "None" }
const malformed = (problem: string): PresentedCredentials => ({ _tag: "Malformed", problem })

// Two `Authorization` headers arrive joined by a comma, which `b64token` does not match.
const authorization = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+)(?: +(.*))?$/
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/** Longest accepted token, in characters. */
const maxTokenLength = 16_384

/** True if the text is formatted like a token. */
export const isToken = (text: string): boolean => text.length <= maxTokenLength && b64token.test(text)

/** Describes what is wrong with a request's query, or returns `undefined` if it is fine. */
export const problemOfQuery = ({ url }: Pick<HttpServerRequest, "url">): string | undefined =>
  /[?&]access_token=/.test(url) ? "Send the token in the Authorization header, not in the query string" : undefined

/** Reads a request's credentials. */
export const parse = ({ headers, url }: Pick<HttpServerRequest, "headers" | "url">): PresentedCredentials => {
  const problem = problemOfQuery({ url })
  if (problem !== undefined) return malformed(problem)
  const header = headers["authorization"]
  if (header === undefined) return none
  const [, scheme, token = ""] = authorization.exec(header.trim()) ?? []
  if (scheme === undefined) return malformed("The Authorization header must be a scheme followed by a token")
  const kind = scheme.toLowerCase()
  // The challenge lists the schemes that the server accepts.
  if (kind !== "bearer" && kind !== "dpop") return none
  if (token.length > maxTokenLength) return malformed(`The token is longer than ${maxTokenLength} characters`)
  if (!b64token.test(token)) return malformed("The Authorization header must contain exactly one token")
  return {
    _tag: "Token",
    scheme: kind === "dpop" ? "DPoP" : "Bearer",
    token: Redacted.make(token, { label: "access token" }),
    proof: headers["dpop"]
  }
}
