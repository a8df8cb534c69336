/**
 * Errors that programs throw and catch. Their messages may be sent to the other side.
 *
 * `ErrorTranslation` converts internal errors to these classes.
 */
import * as Wire from "@effect-mcp/protocol/McpError"

/**
 * A JSON-RPC error with an integer `code`, a one-sentence `message` and optional machine-readable `data`. Throw it in a handler to send
 * exactly this error as the response. A client's request rejects with it when the server responds with an error.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic#responses
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

  /** Creates an error with code -32602, for invalid params. */
  static invalidParams(message: string, data?: unknown): McpError {
    return new McpError(Wire.InvalidParams, message, data)
  }

  /** Creates an error with code -32603, for a server failure. The client sees the message. */
  static internalError(message: string): McpError {
    return new McpError(Wire.InternalError, message)
  }
}

/** Why a request or a question to the client failed without a response. */
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
 * A request failed without a usable response; `reason` says why.
 *
 * - `Declined`: the user said no.
 * - `CapabilityMissing`: the other side did not declare a capability the request needs. Nothing was sent.
 * - `Closed`, `TransportError`: the connection was lost or couldn't be opened.
 * - `ToolFailure`: the tool that `callTyped` called failed. The message is the text the tool returned.
 */
export class RequestError extends Error {
  override readonly name = "RequestError"
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}
