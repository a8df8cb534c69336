/** Admission by access tokens (RFC 6750), and the place of the metadata that names their issuer (RFC 9728). */
import { OAuthError, OAuthErrorCode } from "../model/oauth.ts"
import type { AuthInfo } from "../model/types.ts"

/** Gives what a token says, or throws an `OAuthError` of the code `invalid_token`. */
export interface OAuthTokenVerifier {
  verifyAccessToken(token: string): Promise<AuthInfo>
}

export interface BearerAuthOptions {
  verifier: OAuthTokenVerifier
  /** Scopes that a token must have, all of them. */
  requiredScopes?: Array<string> | undefined
  /** Told to clients that are refused: see `getOAuthProtectedResourceMetadataUrl`. */
  resourceMetadataUrl?: string | undefined
}

const invalid = (message: string): OAuthError => new OAuthError(OAuthErrorCode.InvalidToken, message)

/** What the token of an `Authorization` header says. Throws an `OAuthError` for one that is missing, not valid or over. */
export const verifyBearerToken = async (
  authorization: string | null | undefined,
  { requiredScopes = [], verifier }: BearerAuthOptions
): Promise<AuthInfo> => {
  if (authorization === null || authorization === undefined || authorization === "") {
    throw invalid("The request has no Authorization header; send Authorization: Bearer TOKEN")
  }
  const [scheme = "", token = ""] = authorization.split(" ")
  if (scheme.toLowerCase() !== "bearer" || token === "") {
    throw invalid(`The Authorization header has the scheme ${scheme}; expected Bearer TOKEN`)
  }
  const info = await verifier.verifyAccessToken(token)
  // A text would have each of its parts as a scope.
  if (!Array.isArray(info.scopes)) throw new TypeError("verifyAccessToken returned scopes that are no array")
  const missing = requiredScopes.filter((scope) => !info.scopes.includes(scope))
  if (missing.length > 0) {
    throw new OAuthError(OAuthErrorCode.InsufficientScope, `The token lacks the scopes ${missing.join(", ")}`)
  }
  const { expiresAt } = info
  if (typeof expiresAt !== "number" || Number.isNaN(expiresAt)) throw invalid("The token has no time of expiry")
  if (expiresAt < Date.now() / 1000) throw invalid("The token has expired")
  return info
}

/** Text in quotes; characters that no header may have are spaces. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll(/[^\u0020-\u007E]/g, " ")}"`

const statuses: ReadonlyMap<string, number> = new Map([
  [OAuthErrorCode.InvalidToken, 401],
  [OAuthErrorCode.InsufficientScope, 403],
  [OAuthErrorCode.ServerError, 500]
])

type Challenge = Pick<BearerAuthOptions, "requiredScopes" | "resourceMetadataUrl">

/** The refusal of a request whose token was not admitted; of what is no `OAuthError` the client learns nothing. */
export const bearerAuthChallengeResponse = (
  error: unknown,
  { requiredScopes = [], resourceMetadataUrl }: Challenge = {}
): Response => {
  const told =
    error instanceof OAuthError ? error : new OAuthError(OAuthErrorCode.ServerError, "The token was not verified")
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

/** Gives what the token of a request says, or the refusal. */
export const requireBearerAuth =
  (options: BearerAuthOptions): ((request: Request) => Promise<AuthInfo | Response>) =>
  async ({ headers }) => {
    try {
      return await verifyBearerToken(headers.get("authorization")?.split(",")[0], options)
    } catch (error) {
      return bearerAuthChallengeResponse(error, options)
    }
  }

/** The path of the metadata of a resource (RFC 9728, section 3.1). */
export const metadataPath = ({ pathname }: URL): string =>
  `/.well-known/oauth-protected-resource${pathname.length > 1 ? pathname.replace(/\/$/, "") : ""}`

/** Where the metadata of the server at a URL is found. */
export const getOAuthProtectedResourceMetadataUrl = (server: URL): string => new URL(metadataPath(server), server).href
