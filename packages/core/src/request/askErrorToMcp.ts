import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type AskError, CapabilityMissing, missingCapabilityError } from "./ClientInput.ts"
import { RequestContext } from "./RequestContext.ts"

/** A question's failure where there is no result to tell it in (prompts, resources): a protocol error. */
export const askErrorToMcp = (error: AskError): Effect.Effect<never, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ revision }) =>
    Effect.fail(
      error instanceof CapabilityMissing && revision.rules.missingCapability === "error"
        ? missingCapabilityError(error)
        : McpError.internalError(error.message)
    )
  )
