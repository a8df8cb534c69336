/** The requests of the other side that a peer is busy with. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type * as Fiber from "effect/Fiber"
import type { Exchange } from "../Peer.ts"

/** One inbound request, for live views. */
export interface InFlight {
  readonly id: JsonRpc.Id
  readonly method: string
  readonly state: "running" | "pending"
  /** Milliseconds since the epoch, by the Clock. */
  readonly since: number
}

export interface Running {
  readonly exchange: Exchange
  readonly since: number
  readonly stands: boolean
  fiber: Fiber.Fiber<unknown, McpError> | undefined
  /** Why it was interrupted. `cancelled`: by its sender, who wants no answer. */
  ended: "cancelled" | { readonly reason: string } | undefined
}

export const view = (entries: Iterable<Running>, state: InFlight["state"]): ReadonlyArray<InFlight> =>
  Array.from(entries, ({ exchange, since }) => ({
    id: exchange.request.id,
    method: exchange.request.method,
    state,
    since
  }))
