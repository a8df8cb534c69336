/** `@modelcontextprotocol/sdk/client/index.js`: lists are read page by page, and every error of a request is an `McpError`. */
import { Client as Newer } from "../../client/Client.ts"
import type { RequestOptions } from "../../client/Options.ts"
import { ErrorCode, McpError, ProtocolError, SdkError, SdkErrorCode } from "../../model/errors.ts"

export type { ClientOptions, RequestOptions } from "../../client/Options.ts"

/** The client of v1. */
export class Client extends Newer {
  protected override get readsAllPages(): boolean {
    return false
  }

  protected override failure(error: unknown): unknown {
    const made = super.failure(error)
    if (made instanceof McpError) return made
    if (made instanceof ProtocolError) return new McpError(made.code, made.message, made.data)
    if (!(made instanceof SdkError)) return made
    if (made.code === SdkErrorCode.RequestTimeout) return new McpError(ErrorCode.RequestTimeout, made.message)
    if (made.code === SdkErrorCode.ConnectionClosed) return new McpError(ErrorCode.ConnectionClosed, made.message)
    return made.code === SdkErrorCode.InvalidResult ? new McpError(ErrorCode.InvalidParams, made.message) : made
  }
}

export type ConnectOptions = RequestOptions
