/** Errors of OAuth, as verifiers of access tokens throw them. */

/** The codes of RFC 6749, section 5.2, and of its extensions. */
export const OAuthErrorCode = {
  InvalidRequest: "invalid_request",
  InvalidClient: "invalid_client",
  InvalidGrant: "invalid_grant",
  UnauthorizedClient: "unauthorized_client",
  UnsupportedGrantType: "unsupported_grant_type",
  InvalidScope: "invalid_scope",
  AccessDenied: "access_denied",
  ServerError: "server_error",
  TemporarilyUnavailable: "temporarily_unavailable",
  UnsupportedResponseType: "unsupported_response_type",
  UnsupportedTokenType: "unsupported_token_type",
  InvalidToken: "invalid_token",
  MethodNotAllowed: "method_not_allowed",
  TooManyRequests: "too_many_requests",
  InvalidClientMetadata: "invalid_client_metadata",
  InvalidRedirectUri: "invalid_redirect_uri",
  InsufficientScope: "insufficient_scope",
  InvalidTarget: "invalid_target"
} as const
export type OAuthErrorCode = (typeof OAuthErrorCode)[keyof typeof OAuthErrorCode]

/** The body of a refusal. */
export interface OAuthErrorResponse {
  error: string
  error_description?: string | undefined
  error_uri?: string | undefined
}

export class OAuthError extends Error {
  override readonly name: string = "OAuthError"
  readonly code: string
  readonly errorUri: string | undefined

  constructor(code: OAuthErrorCode | (string & {}), message: string, errorUri?: string) {
    super(message)
    this.code = code
    this.errorUri = errorUri
  }

  toResponseObject(): OAuthErrorResponse {
    const uri = this.errorUri === undefined ? undefined : { error_uri: this.errorUri }
    return { error: this.code, error_description: this.message, ...uri }
  }
}
