/**
 * Protocol errors: a JSON-RPC error object with one of MCP's codes.
 *
 * Defines the codes and the messages of common errors. Errors carry no cause and no stack trace, which belong in the log and the tracer.
 */
import * as Data from "effect/Data"
import type { ClientCapabilities } from "../model/Capabilities.ts"
import { excerpt } from "../Excerpt.ts"
import { withoutStack } from "../internal/stack.ts"
import { type HttpRefusal, httpRefusal } from "./JsonRpc.ts"

/** The input is not valid JSON. */
export const ParseError = -32700
/** The message is not a valid request, or is not allowed at this point. */
export const InvalidRequest = -32600
/** The receiver doesn't support the method. */
export const MethodNotFound = -32601
/** The params don't match the method. */
export const InvalidParams = -32602
/** The request failed for a reason the caller didn't cause. */
export const InternalError = -32603
/** The resource doesn't exist. Replaced by `InvalidParams` in 2026-07-28. */
export const ResourceNotFound = -32002
/** The user must complete a URL elicitation first; `data.elicitations` lists what to complete. Only in 2025-11-25. */
export const UrlElicitationRequired = -32042
/** Too many requests in flight, or too many bytes. A custom code, outside the ranges of JSON-RPC and MCP, named after HTTP 429. */
export const LimitExceeded = -31429
/**
 * The server ended the request because it is shutting down, the request expired, or an operator interrupted it. A custom code, named after
 * HTTP 503.
 */
export const Interrupted = -31503
/** A gateway would forward to itself, or too many gateways are chained. A custom code, named after HTTP 508. */
export const LoopDetected = -31508
/** The caller must authenticate. A custom code, named after HTTP 401. */
export const Unauthorized = -31401
/** The caller is not allowed to do this. A custom code, named after HTTP 403. */
export const Forbidden = -31403
/** The user declined a sampling request. */
export const UserRejected = -1
/** The HTTP headers don't match the body (2026-07-28). */
export const HeaderMismatch = -32020
/** The request needs a capability that the client didn't declare (2026-07-28). */
export const MissingClientCapability = -32021
/** The server doesn't support the requested revision (2026-07-28). */
export const UnsupportedProtocolVersion = -32022

interface ErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * A JSON-RPC error: an integer `code`, a one-sentence `message`, and optional machine-readable `data`. If a handler fails with an McpError,
 * the client receives exactly this error.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const { code, message } = McpError.invalidParams("limit is 0; expected 1 to 100", { field: "limit" })
 * console.log(code, message)
 * // => -32602 limit is 0; expected 1 to 100
 * ```
 */
export class McpError extends Data.TaggedError("McpError")<ErrorObject> {
  /**
   * Copies only these fields, because the object may come from a peer. A code that isn't an integer becomes -32603; otherwise the response
   * would not be a valid JSON-RPC message, and the request would never be answered.
   */
  constructor({ code, data, message }: ErrorObject) {
    const stated = { code: Number.isInteger(code) ? code : InternalError, message }
    super(data === undefined ? stated : { ...stated, data })
  }
}

/** An error with a dedicated HTTP status. */
class Refusal extends McpError {
  [httpRefusal]: HttpRefusal | undefined = undefined
}

/** Optional parts of a rejection, besides its message. */
export interface RefusalOptions {
  /**
   * `WWW-Authenticate` header value (RFC 9110 section 11.6.1). Characters other than printable ASCII become question marks. Default: no
   * header.
   */
  readonly challenge?: string | undefined
  readonly data?: unknown
}

const refusal = (
  status: HttpRefusal["status"],
  code: number,
  message: string,
  { challenge, data }: RefusalOptions = {}
): McpError => {
  const error = withoutStack(() => new Refusal({ code, message, data }))
  error[httpRefusal] = { status, challenge: challenge?.replaceAll(/[^\x20-\x7e]/gu, "?") }
  return error
}

const make = (code: number, message: string, data?: unknown): McpError =>
  withoutStack(() => new McpError({ code, message, data }))

/** Creates a -32700 error. */
export const parseError = (message = "Parse error: not valid JSON"): McpError => make(ParseError, message)
/** Creates a -32600 error. */
export const invalidRequest = (message: string, data?: unknown): McpError => make(InvalidRequest, message, data)
/** Creates a -32601 error that quotes the beginning of the method name. */
export const methodNotFound = (method: string): McpError => make(MethodNotFound, `Method not found: ${excerpt(method)}`)
/** Creates the error for a method that needs a session, on an endpoint without sessions. */
export const sessionRequired = (method: string): McpError =>
  make(MethodNotFound, `${excerpt(method)} requires a session, but this endpoint has none (sessions: false)`)
/** Creates a -32602 error. */
export const invalidParams = (message: string, data?: unknown): McpError => make(InvalidParams, message, data)
/** Creates the error for a tool that doesn't exist, or that the caller may not see. */
export const unknownTool = (name: string): McpError => invalidParams(`Unknown tool: ${excerpt(name)}`)
/** Creates the error for a prompt that doesn't exist, or that the caller may not see. */
export const unknownPrompt = (name: string): McpError => invalidParams(`Unknown prompt: ${excerpt(name)}`)
/** Creates a -32603 error without details. The cause of an internal failure is logged but never sent. */
export const internalError = (message = "Internal error"): McpError => make(InternalError, message)
/** Creates the error for a request that exceeds a limit of the receiver. */
export const limitExceeded = (message: string, data?: unknown): McpError => make(LimitExceeded, message, data)
/** Creates the error for a request that the receiver interrupted. `reason` becomes the message. */
export const interrupted = (reason: string): McpError => make(Interrupted, reason)
/** Creates the error for a connection that a gateway doesn't open because it would lead back to the gateway. */
export const loopDetected = (message: string): McpError => make(LoopDetected, message)
/** Creates the error for a client that didn't declare the required capabilities (2026-07-28). */
export const missingClientCapability = (requiredCapabilities: ClientCapabilities): McpError =>
  make(MissingClientCapability, `The client does not support ${Object.keys(requiredCapabilities).join(", ")}`, {
    requiredCapabilities
  })
/** Creates the error for an unsupported revision, with the supported and the requested versions (2026-07-28). */
export const unsupportedProtocolVersion = (supported: ReadonlyArray<string>, requested: string): McpError =>
  make(UnsupportedProtocolVersion, `Unsupported protocol version: ${excerpt(requested)}`, {
    supported,
    requested: excerpt(requested)
  })
/** Creates the error for headers that don't match the body (2026-07-28). `what` names the header and describes the mismatch. */
export const headerMismatch = (what: string): McpError => make(HeaderMismatch, `Header mismatch: ${what}`)
/**
 * Creates the error for a caller who must authenticate: -31401, and HTTP status 401 unless the response has already started.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const { code } = McpError.unauthorized("Log in first", { challenge: `Bearer realm="notes"` })
 * console.log(code)
 * // => -31401
 * ```
 */
export const unauthorized = (message: string, options?: RefusalOptions): McpError =>
  refusal(401, Unauthorized, message, options)
/** Creates the error for a caller who is not allowed to do this: -31403, and HTTP status 403 unless the response has already started. */
export const forbidden = (message: string, options?: RefusalOptions): McpError =>
  refusal(403, Forbidden, message, options)
