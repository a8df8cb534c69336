/**
 * The outbound for a handler whose messages no client can receive, because its request was already answered or has no
 * connection.
 */
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
