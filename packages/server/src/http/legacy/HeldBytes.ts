/** Bytes that an HTTP+SSE endpoint holds for its callers. */
import type { Bounds } from "@effect-mcp/core/internal/inFlight"
import { ArrivingBodies, type ArrivingBody } from "../../internal/ArrivingBodies.ts"

/** A message whose body is being received, or a session with unread messages. */
export interface HeldBytes extends ArrivingBody {
  readonly cut: () => void
}

/** Counts held bytes. If they exceed a limit, the caller that holds the most loses its oldest part. */
export const holding = (most: number, bytes: Bounds, sparesOnly = false): ArrivingBodies<HeldBytes> => {
  const held = new ArrivingBodies<HeldBytes>(
    most,
    bytes,
    (slow) => {
      held.leave(slow)
      slow.cut()
    },
    sparesOnly
  )
  return held
}
