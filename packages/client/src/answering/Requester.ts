/**
 * The server that asks: what an implementation of `Elicitation`, `Sampling` or `Roots` shows its user (spec: client/elicitation, trust).
 *
 * Present while a question is answered. The server's name and version are not verified: show them, and decide nothing by them.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Context from "effect/Context"

export interface RequesterInfo {
  readonly server: Implementation
  /** The name of the server in the table of the program, where its clients are of `McpClients`. */
  readonly serverName?: string | undefined
  /** The id of the request that asks, where the wire says so (Streamable HTTP, sessions): see `CallOptions.onSend`. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** The id of the task that asks (2025-11-25). */
  readonly task?: string | undefined
  /** The server's key of the question (2026-07-28). */
  readonly key?: string | undefined
  /** Sends progress of the answer, where the server asked for it. Never waits: progress is dropped while the transport is full. */
  readonly progress?: ((event: Omit<ProgressParams, "progressToken">) => void) | undefined
}

/** Undefined outside of questions, as in a test of the implementation alone. */
export const Requester = Context.Reference<RequesterInfo | undefined>("@effect-mcp/client/Requester", {
  defaultValue: () => undefined
})
