/** A failure meant for the model to read: it becomes a tool result with `isError`, never a protocol error. */
import * as Data from "effect/Data"

export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}
