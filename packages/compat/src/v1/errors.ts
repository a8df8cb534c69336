/** The errors of v1. Every error of a request is an `McpError`, including local errors. */
import {
  ErrorCode,
  McpError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError as Newer
} from "../model/errors.ts"
import type { ElicitRequestURLParams } from "../model/types.ts"

/** Code -32042: the user must visit URLs first (2025-11-25). */
export class UrlElicitationRequiredError extends McpError {
  readonly elicitations: Array<ElicitRequestURLParams>

  constructor(elicitations: Array<ElicitRequestURLParams>, message = "URL elicitation required") {
    super(ErrorCode.UrlElicitationRequired, message, { elicitations })
    this.elicitations = elicitations
  }
}

const codes: ReadonlyMap<SdkErrorCode, number> = new Map([
  [SdkErrorCode.RequestTimeout, ErrorCode.RequestTimeout],
  [SdkErrorCode.ConnectionClosed, ErrorCode.ConnectionClosed],
  [SdkErrorCode.InvalidResult, ErrorCode.InvalidParams]
])

/** Converts an error of v2 to v1. Errors without a v1 code stay as they are. */
export const toV1 = (error: unknown): unknown => {
  if (error instanceof McpError) return error
  if (error instanceof Newer) return new UrlElicitationRequiredError(error.elicitations, error.message)
  if (error instanceof ProtocolError) return new McpError(error.code, error.message, error.data)
  const code = error instanceof SdkError ? codes.get(error.code) : undefined
  return code !== undefined && error instanceof Error ? new McpError(code, error.message) : error
}
