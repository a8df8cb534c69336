/** What a handler sends by where no client can get it: the message was answered already, or there is no wire. */
import type { Outbound } from "@effect-mcp/core/RequestContext"
import * as Effect from "effect/Effect"

/** Drops notifications, and never closes. */
export const inertOutbound: Outbound = {
  notify: () => {},
  ready: Effect.void,
  isRead: () => false,
  left: Effect.void,
  closing: Effect.never,
  connection: undefined
}
