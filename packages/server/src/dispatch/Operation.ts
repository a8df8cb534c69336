/** A method of one revision, as a server answers it. */
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

/** A method of one revision, as this server answers it. */
export interface MethodOperation extends Codec {
  readonly method: string
  readonly handle: Handle
  readonly needsSession: boolean
  readonly mayAsk: boolean
  /** The hint that its results carry; undefined where they carry none, or their own. */
  readonly hint: CacheHint | undefined
  /** Whether the result depends on the caller, and is private whatever the hint says. */
  readonly variesByCaller: () => boolean
  readonly rateLimit: MethodLimit | undefined
  /** The method of an extension; undefined for those of MCP. */
  readonly own: ExtensionMethod | undefined
  /** Whether the server has the method; otherwise middleware answers it, and decides by -32601 that it does not exist. */
  readonly isKnown: boolean
}
