/**
 * Everything a client's call can fail with, beside what a typed tool declares.
 *
 * One class per decision a caller may want to make. What the server said travels as its own `McpError`.
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
 * The server's answer is not what the protocol, its own output schema, or the Tool value says; or it asks for what it may not.
 * `result` is that answer as far as it was understood, where there is one.
 */
export class InvalidResult extends Data.TaggedError("InvalidResult")<{
  readonly method: string
  readonly message: string
  readonly result?: unknown
}> {}

/** `Consent` refused what would have left the client. */
export class ConsentDenied extends Data.TaggedError("ConsentDenied")<{ readonly message: string }> {}

/** The tool says that it runs only as a task (2025-11-25), which is not spoken here. */
export class TaskRequired extends Data.TaggedError("TaskRequired")<{
  readonly tool: string
  readonly message: string
}> {}

/** A refusal of the caller by HTTP. It ends one request; the connection and other requests live on. */
export interface Denied {
  /** What was refused, for whom, and what to do about it. */
  readonly message: string
  /** The method of the request, or `GET` for a stream. */
  readonly method: string
  /** The endpoint without its query. */
  readonly url: string
  /** The scopes that the request needs; empty when the server does not say. */
  readonly scopes: ReadonlyArray<string>
  /** Where the server describes who gives tokens for it (RFC 9728), where it says so. */
  readonly resourceMetadata: string | undefined
  /** The error code of OAuth, such as `invalid_token` or `insufficient_scope`, where the server gave one. */
  readonly code: string | undefined
  /** The same refusal as the HTTP client saw it, where that tried to log in. */
  readonly cause?: HttpClientError | undefined
}

/** The server wants credentials, or other ones (HTTP status 401). It has not acted on the request. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Denied> {}

/** The credentials are not allowed to do this (HTTP status 403). The server has not acted on the request. */
export class Forbidden extends Data.TaggedError("Forbidden")<Denied> {}

export type ClientError =
  | CapabilityMissing
  | Closed
  | ConsentDenied
  | Forbidden
  | InvalidResult
  | McpError
  | TaskRequired
  | Timeout
  | Unauthorized

/** The same error, or the refusal of the caller (HTTP status 401 or 403) that ended the request or the connection. */
export const denied = <E>(error: E): E | Forbidden | Unauthorized => {
  const transport = error instanceof Closed ? error.cause : error instanceof TransportError ? error : undefined
  const cause = transport?.cause
  return cause instanceof Unauthorized || cause instanceof Forbidden ? cause : error
}

/** No revision that both sides speak. The connection is over. */
export class UnsupportedRevision extends Data.TaggedError("UnsupportedRevision")<{
  /** What the client asked for last. */
  readonly offered: string
  /** What the server answered or said that it speaks; empty when it did not say. */
  readonly server: ReadonlyArray<string>
  readonly message: string
}> {}
