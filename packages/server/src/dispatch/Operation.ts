/** A method in one revision, as implemented by the server. */
import type { CacheHint } from "@effect-mcp/core/CacheHint"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import type { ExtensionMethod } from "../features/ExtensionRegistry.ts"
import type { MethodLimit } from "../features/RateLimit.ts"
import type { DecodedResult } from "../request/DecodedRequest.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { Codec } from "./Codec.ts"

export type Handle = (
  params: unknown,
  request: ServerRequest
) => Effect.Effect<DecodedResult, McpError.McpError, RequestServices>

/** Decodes, handles and encodes requests for the method. */
export interface MethodOperation extends Codec {
  readonly method: string
  readonly handle: Handle
  readonly needsSession: boolean
  readonly mayAsk: boolean
  /** Caching hint for its results, or `undefined` if they have no hint or include their own. */
  readonly hint: CacheHint | undefined
  /** Returns true if the result depends on the caller. Such a result is always private, regardless of its hint. */
  readonly variesByCaller: () => boolean
  readonly rateLimit: MethodLimit | undefined
  /** The extension's method, or `undefined` for an MCP method. */
  readonly own: ExtensionMethod | undefined
  /** True if the server has the method. Otherwise middleware handles it, and fails with -32601 if it does not exist. */
  readonly isKnown: boolean
}
