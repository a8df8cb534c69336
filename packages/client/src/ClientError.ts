/**
 * Every error of a client's request, beside the failures that a typed tool declares.
 *
 * One class per decision of the caller. An error that the server answered with is its own `McpError`.
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
 * The server's result breaks the protocol, the tool's output schema, or the Tool value; or a question in it is not allowed. `result` is
 * the result as far as it was decoded.
 */
export class InvalidResult extends Data.TaggedError("InvalidResult")<{
  readonly method: string
  readonly message: string
  readonly result?: unknown
}> {}

/** The client's `Consent` refused an action; nothing was sent. */
export class ConsentDenied extends Data.TaggedError("ConsentDenied")<{ readonly message: string }> {}

/** The call became a task, and the task was cancelled. */
export class TaskCancelled extends Data.TaggedError("TaskCancelled")<{
  /** The id of the task. */
  readonly task: string
  /** What the server says about it. */
  readonly message: string
}> {}

/** A refusal by HTTP status 401 or 403. It ends one request; the connection and other requests live on. */
export interface Denied {
  /** What was refused, and what to do about it. */
  readonly message: string
  /** What was refused, for programs with advice of their own. */
  readonly refusal: string
  /** The method of the request, or `GET` for a stream. */
  readonly method: string
  /** The endpoint without its query. */
  readonly url: string
  /** The scopes that the request needs; empty when the server does not say. */
  readonly scopes: ReadonlyArray<string>
  /** The URL of the server's protected resource metadata (RFC 9728), where the server gave one. */
  readonly resourceMetadata: string | undefined
  /** The error code of OAuth, such as `invalid_token` or `insufficient_scope`, where the server gave one. */
  readonly code: string | undefined
  /** The error of an HTTP client that tried to log in. */
  readonly cause?: HttpClientError | undefined
}

/** The request needs credentials, or other ones (HTTP status 401). The server has not acted on it. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Denied> {}

/** The credentials do not allow the request (HTTP status 403). The server has not acted on it. */
export class Forbidden extends Data.TaggedError("Forbidden")<Denied> {}

/** The same error for a request that the server may have seen. */
export const sent = ({ cause, message }: Closed): Closed => new Closed({ message, cause })

/** The same error for a request that has certainly not left the client. */
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

/** The refusal (HTTP status 401 or 403) that ended the request or the connection. Returns any other error unchanged. */
export const denied = <E>(error: E): E | Forbidden | Unauthorized => {
  const transport = error instanceof Closed ? error.cause : error instanceof TransportError ? error : undefined
  const cause = transport?.cause
  return cause instanceof Unauthorized || cause instanceof Forbidden ? cause : error
}

/** There is no revision that both sides speak. The connection is closed. */
export class UnsupportedRevision extends Data.TaggedError("UnsupportedRevision")<{
  /** The revision that the client offered last. */
  readonly offered: string
  /** The revisions that the server named; empty when it named none. */
  readonly server: ReadonlyArray<string>
  readonly message: string
}> {}
