/** `@modelcontextprotocol/sdk/server/auth/errors.js`: a class for each error code that a token verifier may return. */
import { OAuthError, OAuthErrorCode } from "../../../model/oauth.ts"

export { OAuthError } from "../../../model/oauth.ts"

interface CodeError extends OAuthError {
  readonly errorCode: string
}

interface CodeErrorClass {
  readonly errorCode: string
  new (message: string, errorUri?: string): CodeError
}

/**
 * Returns an error class for one code. The return type is an interface because the inferred declaration would list the members that Effect
 * adds to `Error`.
 */
const ofCode = (code: OAuthErrorCode): CodeErrorClass =>
  class extends OAuthError {
    static readonly errorCode: string = code

    constructor(message: string, errorUri?: string) {
      super(code, message, errorUri)
    }

    get errorCode(): string {
      return code
    }
  }

/** The token is unknown, revoked or expired: 401. */
export class InvalidTokenError extends ofCode(OAuthErrorCode.InvalidToken) {}
/** The token lacks a scope: 403. */
export class InsufficientScopeError extends ofCode(OAuthErrorCode.InsufficientScope) {}
/** The request is malformed: 400. */
export class InvalidRequestError extends ofCode(OAuthErrorCode.InvalidRequest) {}
/** The client is unknown: 400. */
export class InvalidClientError extends ofCode(OAuthErrorCode.InvalidClient) {}
/** The verifier failed: 500. */
export class ServerError extends ofCode(OAuthErrorCode.ServerError) {}
/** The verifier is overloaded: 400. */
export class TemporarilyUnavailableError extends ofCode(OAuthErrorCode.TemporarilyUnavailable) {}
