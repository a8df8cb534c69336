/**
 * Errors a client request can fail with, in addition to the failures a typed tool declares.
 *
 * There is one class for each decision a caller may have to make. An error response from the server is an `McpError`.
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
 * The server's result violates the protocol, the tool's output schema or the `Tool` value's type, or asks a question it isn't allowed to
 * ask. `result` holds whatever part of the result could be decoded.
 */
export class InvalidResult extends Data.TaggedError("InvalidResult")<{
  readonly method: string
  readonly message: string
  readonly result?: unknown
}> {}

/** The client's `Consent` denied an action. Nothing was sent. */
export class ConsentDenied extends Data.TaggedError("ConsentDenied")<{ readonly message: string }> {}

/** The call became a task, and that task was cancelled. */
export class TaskCancelled extends Data.TaggedError("TaskCancelled")<{
  readonly task: string
  /** The server's stated reason. */
  readonly message: string
}> {}

/** An HTTP 401 or 403 response. Only this request fails; the connection and all other requests continue. */
export interface Denied {
  /** Explains why the request was denied and how to fix it. */
  readonly message: string
  /** Why the request was denied, without advice, for programs that add their own. */
  readonly refusal: string
  /** The request's method, or `GET` for a stream. */
  readonly method: string
  /** The endpoint's URL, without its query. */
  readonly url: string
  /** OAuth scopes the request needs. Empty if the server doesn't name any. */
  readonly scopes: ReadonlyArray<string>
  /** URL of the server's protected resource metadata (RFC 9728), or `undefined` if the server doesn't send one. */
  readonly resourceMetadata: string | undefined
  /** OAuth error code, such as `invalid_token` or `insufficient_scope`, or `undefined` if the server doesn't send one. */
  readonly code: string | undefined
  /** The error from an HTTP client that tried to log in. */
  readonly cause?: HttpClientError | undefined
}

/** The request needs credentials, or different ones (HTTP 401). The server did not process it. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Denied> {}

/** The credentials do not permit this request (HTTP 403). The server did not process it. */
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

/** The client and server have no revision in common. The connection is closed. */
export class UnsupportedRevision extends Data.TaggedError("UnsupportedRevision")<{
  /** The last revision the client offered. */
  readonly offered: string
  /** Revisions the server reported. Empty if it didn't report any. */
  readonly server: ReadonlyArray<string>
  readonly message: string
}> {}
