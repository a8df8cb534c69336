/** How to open this package's transports. Kept apart from the classes, whose types are the SDK's. */
import type * as Core from "@effect-mcp/core/Transport"
import type { TransportError } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Transport } from "../server/Transport.ts"

export type Opened = Effect.Effect<Core.Transport, TransportError, Scope.Scope>

/** How to open a transport. */
export interface Opening {
  readonly open: () => Opened
  /** Called when the client is connected, with a function that closes it. */
  readonly opened: (close: () => Promise<void>) => void
}

/** Kept apart from the transports, because their types match the SDK. */
const openings = new WeakMap<object, Opening>()

/** Records how to open a transport. Called by its constructor. */
export const openedAs = (transport: Transport, opening: Opening): void => {
  openings.set(transport, opening)
}

/** Returns how to open a transport, or `undefined` for a transport that the program wrote. */
export const openingOf = (transport: Transport): Opening | undefined => openings.get(transport)
