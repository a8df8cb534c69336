/** A question that the server may not ask, or not in this form. Neither the user, the model nor the host was asked. */
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Data from "effect/Data"

export class Refused extends Data.TaggedError("Refused")<{
  /** Answer to the server, if the question is a request. */
  readonly error: McpError.McpError
}> {}
