/**
 * The error of a request on the wire: a JSON-RPC error object with MCP's codes.
 *
 * Owns the codes and the messages of common errors. Carries no cause and no stack trace: those go to the log and the tracer.
 */
import * as Data from "effect/Data"
import type { ClientCapabilities } from "../model/Capabilities.ts"
import { excerpt } from "../Excerpt.ts"
import { withoutStack } from "../internal/stack.ts"
import { type HttpRefusal, httpRefusal } from "./JsonRpc.ts"

/** The code of a text that is not JSON. */
export const ParseError = -32700
/** The code of a message that is no request, or is not allowed now. */
export const InvalidRequest = -32600
/** The code of a method that the other side does not have. */
export const MethodNotFound = -32601
/** The code of params that do not fit the method. */
export const InvalidParams = -32602
/** The code of a failure that the caller did not cause. */
export const InternalError = -32603
/** Resource not found, in every revision before 2026-07-28 (there it is `InvalidParams`). */
export const ResourceNotFound = -32002
/** A URL elicitation must be completed first; `data.elicitations` lists them. 2025-11-25 only. */
export const UrlElicitationRequired = -32042
/** Too many requests in flight, or too many bytes. Own code outside the ranges of JSON-RPC and MCP, after HTTP's 429. */
export const LimitExceeded = -31429
/** The server ended the request: shutdown, expiry or an operator. Own code, after HTTP's 503. */
export const Interrupted = -31503
/** A gateway is its own upstream server, or too many gateways follow each other. Own code, after HTTP's 508. */
export const LoopDetected = -31508
/** The caller must authenticate. Own code, after HTTP's 401. */
export const Unauthorized = -31401
/** The caller may not do that. Own code, after HTTP's 403. */
export const Forbidden = -31403
/** The user declined a sampling request. */
export const UserRejected = -1
/** 2026-07-28: headers and body disagree. */
export const HeaderMismatch = -32020
/** 2026-07-28: the client did not declare a capability that the request needs. */
export const MissingClientCapability = -32021
/** 2026-07-28: the request names a revision that is not served. */
export const UnsupportedProtocolVersion = -32022

interface ErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * A JSON-RPC error: `code` (integer), `message` (one sentence) and optional machine-readable `data`. A handler that fails with it has its
 * request answered with exactly this error.
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
   * Takes nothing else of the object: it may have arrived. A code that is no integer becomes -32603: with it the answer would be no
   * message of JSON-RPC, and the request would stay without one.
   */
  constructor({ code, data, message }: ErrorObject) {
    const stated = { code: Number.isInteger(code) ? code : InternalError, message }
    super(data === undefined ? stated : { ...stated, data })
  }
}

/** An error that has a status of its own over HTTP. */
class Refusal extends McpError {
  [httpRefusal]: HttpRefusal | undefined = undefined
}

/** What a refusal carries beside its message. */
export interface RefusalOptions {
  /** The value of `WWW-Authenticate` (RFC 9110 section 11.6.1). Characters that are no printable ASCII become question marks. Default none. */
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

/** The error -32700. */
export const parseError = (message = "Parse error: this is not JSON"): McpError => make(ParseError, message)
/** The error -32600. */
export const invalidRequest = (message: string, data?: unknown): McpError => make(InvalidRequest, message, data)
/** The error -32601, with an excerpt of the method. */
export const methodNotFound = (method: string): McpError => make(MethodNotFound, `Method not found: ${excerpt(method)}`)
/** The method needs a session, and the endpoint has none. */
export const sessionRequired = (method: string): McpError =>
  make(MethodNotFound, `${excerpt(method)} needs a session, and this endpoint has none (sessions: false)`)
/** The error -32602. */
export const invalidParams = (message: string, data?: unknown): McpError => make(InvalidParams, message, data)
/** Without details: the reason of an internal failure is logged and never sent. */
export const internalError = (message = "Internal error"): McpError => make(InternalError, message)
/** The error of a request beyond a limit of this side. */
export const limitExceeded = (message: string, data?: unknown): McpError => make(LimitExceeded, message, data)
/** The error of a request that this side has interrupted; `reason` is its message. */
export const interrupted = (reason: string): McpError => make(Interrupted, reason)
/** The error of a conversation that a gateway does not open, since it would lead back to the gateway. */
export const loopDetected = (message: string): McpError => make(LoopDetected, message)
/** 2026-07-28: the client did not declare these capabilities. */
export const missingClientCapability = (requiredCapabilities: ClientCapabilities): McpError =>
  make(MissingClientCapability, `The client did not declare: ${Object.keys(requiredCapabilities).join(", ")}`, {
    requiredCapabilities
  })
/** 2026-07-28: the versions of the server, and the requested one. */
export const unsupportedProtocolVersion = (supported: ReadonlyArray<string>, requested: string): McpError =>
  make(UnsupportedProtocolVersion, `Unsupported protocol version: ${excerpt(requested)}`, {
    supported,
    requested: excerpt(requested)
  })
/** 2026-07-28: `what` names the header and how it disagrees with the body. */
export const headerMismatch = (what: string): McpError => make(HeaderMismatch, `Header mismatch: ${what}`)
/**
 * The caller must authenticate: -31401, and over HTTP the status 401 where the response has not begun.
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
/** The caller may not do that: -31403, and over HTTP the status 403 where the response has not begun. */
export const forbidden = (message: string, options?: RefusalOptions): McpError =>
  refusal(403, Forbidden, message, options)
