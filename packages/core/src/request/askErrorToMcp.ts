/** Converts failed questions to protocol errors, for results that don't support `isError` (prompts and resources). */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type AskError, CapabilityMissing, missingCapabilityError } from "./ClientInput.ts"
import { RequestContext } from "./RequestContext.ts"

/** Fails with -32021 if the client lacks a capability (since 2026-07-28), and with -32603 and the error's message otherwise. */
export const askErrorToMcp = (error: AskError): Effect.Effect<never, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ revision }) =>
    Effect.fail(
      error instanceof CapabilityMissing && revision.rules.missingCapability === "error"
        ? missingCapabilityError(error)
        : McpError.internalError(error.message)
    )
  )
