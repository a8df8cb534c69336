/**
 * Errors of a client's requests, in addition to the failures that a typed tool declares.
 *
 * There is one class per decision that a caller can make. An error response of the server is an `McpError`.
 */
import type { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import { Closed, type Timeout } from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Data from "effect/Data"
import type { HttpClientError } from "effect/http/HttpClientError"

export { CapabilityMissing } from "@effect-mcp/core/ClientInput"
export { Closed, Timeout } from "@effect-mcp/core/Peer"

/**
 * The server's result violates the protocol, the tool's output schema or the type of the Tool value, or contains a question that is not
 * allowed. `result` holds as much of the result as could be decoded.
 */
export class InvalidResult extends Data.TaggedError("InvalidResult")<{
  readonly method: string
  readonly message: string
  readonly result?: unknown
}> {}

/** The client's `Consent` denied an action. Nothing was sent. */
export class ConsentDenied extends Data.TaggedError("ConsentDenied")<{ readonly message: string }> {}

/** The call became a task, and the task was cancelled. */
export class TaskCancelled extends Data.TaggedError("TaskCancelled")<{
  readonly task: string
  /** The server's reason. */
  readonly message: string
}> {}

/** A response with HTTP status 401 or 403. It fails one request; the connection and other requests continue. */
export interface Denied {
  /** Explains the refusal and how to resolve it. */
  readonly message: string
  /** The refusal without advice, for programs that add their own. */
  readonly refusal: string
  /** The method of the request, or `GET` for a stream. */
  readonly method: string
  /** The URL of the endpoint, without its query. */
  readonly url: string
  /** OAuth scopes that the request needs. Empty if the server does not name any. */
  readonly scopes: ReadonlyArray<string>
  /** The URL of the server's protected resource metadata (RFC 9728), or `undefined` if the server does not name one. */
  readonly resourceMetadata: string | undefined
  /** The OAuth error code, such as `invalid_token` or `insufficient_scope`, or `undefined` if the server sends none. */
  readonly code: string | undefined
  /** The error of an HTTP client that tried to log in. */
  readonly cause?: HttpClientError | undefined
}

/** The request needs credentials, or different ones (HTTP status 401). The server did not process it. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Denied> {}

/** The credentials do not allow the request (HTTP status 403). The server did not process it. */
export class Forbidden extends Data.TaggedError("Forbidden")<Denied> {}

/** Returns the error for a request that may have reached the server. */
export const sent = ({ cause, message }: Closed): Closed => new Closed({ message, cause })

/** Returns the error for a request that certainly never left the client. */
export const unsent = ({ cause, message }: Closed): Closed => new Closed({ message, cause, unsent: true })

export type ClientError =
  | CapabilityMissing
  | Closed
  | ConsentDenied
  | Forbidden
  | InvalidResult
  | McpError
  | TaskCancelled
  | Timeout
  | Unauthorized

/** Returns the `Unauthorized` or `Forbidden` that caused an error, or the error itself if there is no such cause. */
export const denied = <E>(error: E): E | Forbidden | Unauthorized => {
  const transport = error instanceof Closed ? error.cause : error instanceof TransportError ? error : undefined
  const cause = transport?.cause
  return cause instanceof Unauthorized || cause instanceof Forbidden ? cause : error
}

/** Client and server have no revision in common. The connection is closed. */
export class UnsupportedRevision extends Data.TaggedError("UnsupportedRevision")<{
  /** The last revision that the client offered. */
  readonly offered: string
  /** Revisions that the server named. Empty if it named none. */
  readonly server: ReadonlyArray<string>
  readonly message: string
}> {}
