/**
 * The errors that programs throw and catch: plain classes, with the message that the other side may see.
 *
 * `ErrorTranslation` makes them of the errors of the layers below.
 */
import * as Wire from "@effect-mcp/protocol/McpError"

/**
 * A JSON-RPC error (spec: basic, responses). A handler that throws it has its request answered with exactly this error: `code` (an
 * integer), `message` (one sentence) and optional machine-readable `data`. A client's request rejects with it when the server does so.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/promise"
 *
 * const error = McpError.invalidParams("limit is 0; expected 1 to 100", { field: "limit" })
 * console.log(error.code, error.message) // => -32602 limit is 0; expected 1 to 100
 * ```
 */
export class McpError extends Error {
  override readonly name = "McpError"
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }

  /** -32602: the params do not fit. */
  static invalidParams(message: string, data?: unknown): McpError {
    return new McpError(Wire.InvalidParams, message, data)
  }

  /** -32603: the server failed. The message is sent. */
  static internalError(message: string): McpError {
    return new McpError(Wire.InternalError, message)
  }
}

/** Why a request, or a question to a client, has no answer. */
export type Reason =
  | "CapabilityMissing"
  | "Closed"
  | "Declined"
  | "Forbidden"
  | "InvalidResult"
  | "TaskCancelled"
  | "Timeout"
  | "ToolFailure"
  | "TransportError"
  | "Unauthorized"
  | "UnsupportedRevision"

/**
 * A request without an answer: `reason` says why. `Declined`: the user said no. `CapabilityMissing`: the other side did not declare what
 * the request needs; nothing was sent. `Closed` and `TransportError`: the connection was lost, or could not be opened.
 * `ToolFailure`: a tool that `callTyped` called failed, and the message says why.
 */
export class RequestError extends Error {
  override readonly name = "RequestError"
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}
