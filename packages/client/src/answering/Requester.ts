/**
 * Identifies the server that asks a question, so that implementations of `Elicitation`, `Sampling` and `Roots` can show it to the user
 * (spec: client/elicitation, trust).
 *
 * Available while a question is being answered. The server's name and version are self-reported, so show them but don't base decisions on
 * them.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Context from "effect/Context"

export interface RequesterInfo {
  readonly server: Implementation
  /** The server's name in the program's table, if the client belongs to `McpClients`. */
  readonly serverName?: string | undefined
  /** ID of the request that triggered the question, if the transport reports it (Streamable HTTP, sessions). See `CallOptions.onSend`. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** ID of the task that asks the question (2025-11-25). */
  readonly task?: string | undefined
  /** The server's key for the question (2026-07-28). */
  readonly key?: string | undefined
  /** Reports progress on the answer, if the server asked for it. Never waits: progress is dropped while the transport is full. */
  readonly progress?: ((event: Omit<ProgressParams, "progressToken">) => void) | undefined
}

/** The requester, or `undefined` outside of a question, for example when an implementation is tested by itself. */
export const Requester = Context.Reference<RequesterInfo | undefined>("@effect-mcp/client/Requester", {
  defaultValue: () => undefined
})
