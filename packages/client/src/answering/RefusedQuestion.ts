/** A question that the server may not ask, or not in this form; neither user, model nor host were asked. */
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Data from "effect/Data"

export class Refused extends Data.TaggedError("Refused")<{
  /** The answer to the server, where the question is a request. */
  readonly error: McpError.McpError
}> {}
