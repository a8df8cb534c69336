/** Imports of transports that not every client uses. */
import { lateImport } from "@effect-mcp/core/internal/calling"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"

/** Imports a transport. Fails with a `TransportError` if that is impossible, for example because a browser has lost its network. */
export const imported = <P>(load: () => Promise<P>): Effect.Effect<P, TransportError> =>
  Effect.tryPromise({
    try: lateImport(load),
    catch: (cause) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return new TransportError({ reason: "Open", message: `Failed to load the transport: ${reason}`, cause })
    }
  })
