/**
 * A failure the model should read. It becomes a tool result with `isError`, never a protocol error (spec: server/tools, error handling).
 */
import * as Data from "effect/Data"

/**
 * Makes a tool handler fail with a message for the model.
 *
 * @example
 * ```ts
 * import { Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const divide = (a: number, b: number) =>
 *   b === 0 ? Effect.fail(new Tools.ToolFailure({ message: "Cannot divide by zero" })) : Effect.succeed(a / b)
 * ```
 */
export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}
