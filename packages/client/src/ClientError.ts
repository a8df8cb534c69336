/**
 * Everything a client's call can fail with, beside what a typed tool declares.
 *
 * One class per decision a caller may want to make. What the server said travels as its own `McpError`.
 */
import type { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import type { Closed, Timeout } from "@effect-mcp/core/Peer"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Data from "effect/Data"

export { CapabilityMissing } from "@effect-mcp/core/ClientInput"
export { Closed, Timeout } from "@effect-mcp/core/Peer"

/**
 * The server's answer is not what the protocol, its own output schema, or the Tool value says; or it asks for what it may not.
 * `result` is that answer as far as it was understood, where there is one.
 */
export class InvalidResult extends Data.TaggedError("InvalidResult")<{
  readonly method: string
  readonly message: string
  readonly result?: unknown
}> {}

/** `Consent` refused what would have left the client. */
export class ConsentDenied extends Data.TaggedError("ConsentDenied")<{ readonly message: string }> {}

/** The tool says that it runs only as a task (2025-11-25), which is not spoken here. */
export class TaskRequired extends Data.TaggedError("TaskRequired")<{
  readonly tool: string
  readonly message: string
}> {}

export type ClientError = CapabilityMissing | Closed | ConsentDenied | InvalidResult | McpError | TaskRequired | Timeout

/** No revision that both sides speak. The connection is over. */
export class UnsupportedRevision extends Data.TaggedError("UnsupportedRevision")<{
  /** What the client asked for last. */
  readonly offered: string
  /** What the server answered or said that it speaks; empty when it did not say. */
  readonly server: ReadonlyArray<string>
  readonly message: string
}> {}
