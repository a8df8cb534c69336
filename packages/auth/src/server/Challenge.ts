/**
 * Formats the `WWW-Authenticate` header for rejected requests (RFC 6750 section 3, RFC 9728 section 5.1, RFC 9449 section 7.1).
 *
 * `@effect-mcp/protocol/Challenge` parses the same header on the client. Callers decide which requests receive a challenge.
 */

/**
 * A challenge's error code. `invalid_request` is sent with status 400, `insufficient_scope` with 403, and the others with 401. The
 * challenge for a request without a token has no error code.
 */
export type ErrorCode =
  | "invalid_request"
  | "invalid_token"
  | "insufficient_scope"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"

/** A challenge. `format` omits undefined and empty fields. */
export interface Challenge {
  /** `ApiKey` is not a registered scheme; it tells clients which header holds an API key. */
  readonly scheme: "ApiKey" | "Bearer" | "DPoP"
  readonly error?: ErrorCode | undefined
  /** Explanation for developers. Must not contain any part of a credential. */
  readonly description?: string | undefined
  /** All scopes that the request needs, including those already granted, because clients request exactly this list. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** URL of the Protected Resource Metadata (RFC 9728). */
  readonly resourceMetadata?: string | undefined
  /** Signature algorithms accepted in DPoP proofs. */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /** Name of the header that holds the API key, for the `ApiKey` scheme. */
  readonly header?: string | undefined
}

/** Formats a quoted-string (RFC 9110 section 5.6.4). Anything other than printable ASCII becomes a question mark. */
const quoted = (value: string): string =>
  `"${value.replaceAll(/[^\x20-\x7e]/gu, "?").replaceAll(/["\\]/g, (character) => `\\${character}`)}"`

/** Formats a challenge as a `WWW-Authenticate` value. */
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

/** Formats several challenges as one `WWW-Authenticate` value. The client chooses a scheme from them. */
export const formatAll = (challenges: ReadonlyArray<Challenge>): string => challenges.map(format).join(", ")
