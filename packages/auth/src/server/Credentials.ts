/**
 * The credentials of a request: the token of its `Authorization` header (RFC 6750 section 2.1, RFC 9449 section 7.1).
 *
 * Owns the grammar. A token in the query is refused, not read: queries are logged. A token in the body is not looked for.
 */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Redacted from "effect/Redacted"

/** No token, a malformed header, or one token. */
export type PresentedCredentials =
  | { readonly _tag: "None" }
  | { readonly _tag: "Malformed"; readonly problem: string }
  | {
      readonly _tag: "Token"
      readonly scheme: "Bearer" | "DPoP"
      readonly token: Redacted.Redacted<string>
      /** The value of the `DPoP` header, unchecked. */
      readonly proof: string | undefined
    }

const none: PresentedCredentials = { _tag: "None" }
const malformed = (problem: string): PresentedCredentials => ({ _tag: "Malformed", problem })

/** One scheme and one token of the alphabet `b64token`; two joined headers do not match. */
const authorization = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+)(?: +(.*))?$/
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/** The longest token that is read, in characters. */
const maxTokenLength = 16_384

/** Whether a text can be a token. */
export const isToken = (text: string): boolean => text.length <= maxTokenLength && b64token.test(text)

/** What is wrong with the query; undefined if nothing is. */
export const problemOfQuery = ({ url }: Pick<HttpServerRequest, "url">): string | undefined =>
  /[?&]access_token=/.test(url) ? "A token must not be in the query: use a header" : undefined

/** Reads the header; refuses tokens in the query. */
export const parse = ({ headers, url }: Pick<HttpServerRequest, "headers" | "url">): PresentedCredentials => {
  const problem = problemOfQuery({ url })
  if (problem !== undefined) return malformed(problem)
  const header = headers["authorization"]
  if (header === undefined) return none
  const [, scheme, token = ""] = authorization.exec(header.trim()) ?? []
  if (scheme === undefined) return malformed("The Authorization header is not a scheme and a token")
  const kind = scheme.toLowerCase()
  // A request with an unknown scheme gets the challenge of one without credentials.
  if (kind !== "bearer" && kind !== "dpop") return none
  if (token.length > maxTokenLength) return malformed(`The token is longer than ${maxTokenLength} characters`)
  if (!b64token.test(token)) return malformed("The Authorization header does not hold one token")
  return {
    _tag: "Token",
    scheme: kind === "dpop" ? "DPoP" : "Bearer",
    token: Redacted.make(token, { label: "access token" }),
    proof: headers["dpop"]
  }
}
