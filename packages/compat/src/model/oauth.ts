/** OAuth errors, which token verifiers throw. */

/** Error codes of RFC 6749, section 5.2, and its extensions. */
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

/** Body of an error response. */
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

/** The client itself gave up a login, because information from the server is missing or cannot be trusted. */
export class OAuthClientFlowError extends Error {
  override readonly name: string = "OAuthClientFlowError"
}

/** The authorization server refused to register the client. */
export class RegistrationRejectedError extends OAuthClientFlowError {
  override readonly name: string = "RegistrationRejectedError"
  /** HTTP status of the response. */
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** The answer of a login came from another authorization server than the user was sent to (RFC 9207). */
export class IssuerMismatchError extends OAuthClientFlowError {
  override readonly name: string = "IssuerMismatchError"
}

/** Credentials that were saved for one authorization server would be sent to another. */
export class AuthorizationServerMismatchError extends OAuthClientFlowError {
  override readonly name: string = "AuthorizationServerMismatchError"
  readonly recordedIssuer: string
  readonly currentIssuer: string

  constructor(recordedIssuer: string, currentIssuer: string) {
    super(`The server's authorization server changed from ${recordedIssuer} to ${currentIssuer}. Log in again`)
    this.recordedIssuer = recordedIssuer
    this.currentIssuer = currentIssuer
  }
}

/** The server demands scopes that the token lacks, and the transport's options forbid asking for them. */
export class InsufficientScopeError extends OAuthClientFlowError {
  override readonly name: string = "InsufficientScopeError"
  readonly requiredScope: string | undefined
  readonly resourceMetadataUrl: URL | undefined
  readonly errorDescription: string | undefined

  constructor({
    errorDescription,
    requiredScope,
    resourceMetadataUrl
  }: {
    requiredScope?: string | undefined
    resourceMetadataUrl?: URL | undefined
    errorDescription?: string | undefined
  }) {
    super(`The token is missing required scopes${requiredScope === undefined ? "" : `: ${requiredScope}`}`)
    this.requiredScope = requiredScope
    this.resourceMetadataUrl = resourceMetadataUrl
    this.errorDescription = errorDescription
  }
}
