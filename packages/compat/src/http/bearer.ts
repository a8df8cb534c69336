/** Admission by access tokens (RFC 6750), and the URL of the metadata that names their issuer (RFC 9728). */
import { OAuthError, OAuthErrorCode } from "../model/oauth.ts"
import type { AuthInfo } from "../model/types.ts"

/** Returns the contents of a token, or throws an `OAuthError` with the code `invalid_token`. */
export interface OAuthTokenVerifier {
  verifyAccessToken(token: string): Promise<AuthInfo>
}

export interface BearerAuthOptions {
  verifier: OAuthTokenVerifier
  /** Scopes that a token must have. It needs all of them. */
  requiredScopes?: Array<string> | undefined
  /** Sent to clients that are rejected: see `getOAuthProtectedResourceMetadataUrl`. */
  resourceMetadataUrl?: string | undefined
}

const invalid = (message: string): OAuthError => new OAuthError(OAuthErrorCode.InvalidToken, message)

/** Returns the contents of the token in an `Authorization` header. Throws an `OAuthError` if the token is missing, invalid or expired. */
export const verifyBearerToken = async (
  authorization: string | null | undefined,
  { requiredScopes = [], verifier }: BearerAuthOptions
): Promise<AuthInfo> => {
  if (authorization === null || authorization === undefined || authorization === "") {
    throw invalid("Missing Authorization header. Expected: Authorization: Bearer TOKEN")
  }
  const [scheme = "", token = ""] = authorization.split(" ")
  if (scheme.toLowerCase() !== "bearer" || token === "") {
    throw invalid(`Invalid Authorization header with scheme ${scheme}. Expected: Authorization: Bearer TOKEN`)
  }
  const info = await verifier.verifyAccessToken(token)
  // On a string, `includes` would also match parts of a scope.
  if (!Array.isArray(info.scopes)) throw new TypeError("verifyAccessToken must return scopes as an array")
  const missing = requiredScopes.filter((scope) => !info.scopes.includes(scope))
  if (missing.length > 0) {
    throw new OAuthError(
      OAuthErrorCode.InsufficientScope,
      `The token is missing the required scopes: ${missing.join(", ")}`
    )
  }
  const { expiresAt } = info
  if (typeof expiresAt !== "number" || Number.isNaN(expiresAt)) throw invalid("The token has no expiration time")
  if (expiresAt < Date.now() / 1000) throw invalid("The token has expired")
  return info
}

/** Quotes a text. Characters that are not allowed in headers become spaces. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll(/[^\u0020-\u007E]/g, " ")}"`

const statuses: ReadonlyMap<string, number> = new Map([
  [OAuthErrorCode.InvalidToken, 401],
  [OAuthErrorCode.InsufficientScope, 403],
  [OAuthErrorCode.ServerError, 500]
])

type Challenge = Pick<BearerAuthOptions, "requiredScopes" | "resourceMetadataUrl">

/** Returns the response for a request without a valid token. Errors other than `OAuthError` are not shown to the client. */
export const bearerAuthChallengeResponse = (
  error: unknown,
  { requiredScopes = [], resourceMetadataUrl }: Challenge = {}
): Response => {
  const told =
    error instanceof OAuthError ? error : new OAuthError(OAuthErrorCode.ServerError, "Failed to verify the token")
  const status = statuses.get(told.code) ?? 400
  const parts = [
    `error=${quoted(told.code)}`,
    `error_description=${quoted(told.message)}`,
    ...(requiredScopes.length > 0 ? [`scope=${quoted(requiredScopes.join(" "))}`] : []),
    ...(resourceMetadataUrl === undefined ? [] : [`resource_metadata=${quoted(resourceMetadataUrl)}`])
  ]
  const headers = new Headers()
  if (status === 401 || status === 403) headers.set("www-authenticate", `Bearer ${parts.join(", ")}`)
  return Response.json(told.toResponseObject(), { status, headers })
}

/** Returns a function that resolves to the contents of a request's token, or to the response that rejects the request. */
export const requireBearerAuth =
  (options: BearerAuthOptions): ((request: Request) => Promise<AuthInfo | Response>) =>
  async ({ headers }) => {
    try {
      return await verifyBearerToken(headers.get("authorization")?.split(",")[0], options)
    } catch (error) {
      return bearerAuthChallengeResponse(error, options)
    }
  }

/** Path of a resource's metadata (RFC 9728, section 3.1). */
export const metadataPath = ({ pathname }: URL): string =>
  `/.well-known/oauth-protected-resource${pathname.length > 1 ? pathname.replace(/\/$/, "") : ""}`

/** Returns the metadata URL of the server at a URL. */
export const getOAuthProtectedResourceMetadataUrl = (server: URL): string => new URL(metadataPath(server), server).href
