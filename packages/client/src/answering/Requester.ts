/**
 * Who asks: what an implementation of `Elicitation`, `Sampling` or `Roots` reads to tell its user (spec: client/elicitation, trust).
 *
 * There while a question is answered. What a server says of itself is not verified: show it, decide nothing by it.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Context from "effect/Context"

export interface RequesterInfo {
  readonly server: Implementation
  /** The id of the request that asks, where the wire says so (Streamable HTTP, sessions): see `CallOptions.onSend`. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** What the server calls the question, where questions have names (2026-07-28). */
  readonly key?: string | undefined
  /** Tells the server how far the answer is, where it wants to know. Never waits: dropped where the wire is full. */
  readonly progress?: ((event: Omit<ProgressParams, "progressToken">) => void) | undefined
}

/** Nothing where no server asks, as in a test of the implementation alone. */
export const Requester = Context.Reference<RequesterInfo | undefined>("@effect-mcp/client/Requester", {
  defaultValue: () => undefined
})
