/** Failed questions to the client as protocol errors, where a result has no `isError` (prompts, resources). */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type AskError, CapabilityMissing, missingCapabilityError } from "./ClientInput.ts"
import { RequestContext } from "./RequestContext.ts"

/** -32021 for a capability that the client lacks (2026-07-28 on), else -32603 with the message. */
export const askErrorToMcp = (error: AskError): Effect.Effect<never, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ revision }) =>
    Effect.fail(
      error instanceof CapabilityMissing && revision.rules.missingCapability === "error"
        ? missingCapabilityError(error)
        : McpError.internalError(error.message)
    )
  )
