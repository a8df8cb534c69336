/**
 * The value of `WWW-Authenticate` in a refusal (RFC 6750 section 3, RFC 9728 section 5.1, RFC 9449 section 7.1).
 *
 * Owns the writing; `@effect-mcp/protocol/Challenge` reads the same header on the client's side. Refuses to decide which request gets it.
 */

/** `invalid_token` goes with 401, `insufficient_scope` with 403, `invalid_request` with 400; a request without a token names no error. */
export type ErrorCode =
  | "invalid_request"
  | "invalid_token"
  | "insufficient_scope"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"

/** One challenge; what is undefined or empty is left out. */
export interface Challenge {
  /** `ApiKey` is no registered scheme: it names the header of a key. */
  readonly scheme: "ApiKey" | "Bearer" | "DPoP"
  readonly error?: ErrorCode | undefined
  /** For developers. Holds no part of a credential. */
  readonly description?: string | undefined
  /** All scopes that the request needs: a client that steps up asks for all of them. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Where the Protected Resource Metadata are (RFC 9728). */
  readonly resourceMetadata?: string | undefined
  /** Signature algorithms for DPoP proofs. */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /** The header that holds the key of `ApiKey`. */
  readonly header?: string | undefined
}

/** A quoted-string (RFC 9110 section 5.6.4); characters that are no printable ASCII become question marks. */
const quoted = (value: string): string =>
  `"${value.replaceAll(/[^\x20-\x7e]/gu, "?").replaceAll(/["\\]/g, (character) => `\\${character}`)}"`

/** One challenge as a header value. */
export const format = (challenge: Challenge): string => {
  const parameters: Array<string> = []
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") parameters.push(`${name}=${quoted(value)}`)
  }
  add("error", challenge.error)
  add("error_description", challenge.description)
  add("scope", challenge.scopes?.join(" "))
  add("resource_metadata", challenge.resourceMetadata)
  add("header", challenge.header)
  add("algs", challenge.algorithms?.join(" "))
  return parameters.length === 0 ? challenge.scheme : `${challenge.scheme} ${parameters.join(", ")}`
}

/** Several challenges as the value of one header; the client chooses a scheme. */
export const formatAll = (challenges: ReadonlyArray<Challenge>): string => challenges.map(format).join(", ")
