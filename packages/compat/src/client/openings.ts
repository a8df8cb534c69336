/** How the transports of this package are opened: kept apart from them, whose types are those of the SDK. */
import type * as Core from "@effect-mcp/core/Transport"
import type { TransportError } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Transport } from "../server/Transport.ts"

export type Opened = Effect.Effect<Core.Transport, TransportError, Scope.Scope>

/** How one is opened. */
export interface Opening {
  readonly open: () => Opened
  /** Called when the client is connected, with what ends that. */
  readonly opened: (close: () => Promise<void>) => void
}

const openings = new WeakMap<object, Opening>()

/** Says how a transport is opened. Called by its constructor. */
export const openedAs = (transport: Transport, opening: Opening): void => {
  openings.set(transport, opening)
}

/** How a transport is opened; undefined for a transport of a program. */
export const openingOf = (transport: Transport): Opening | undefined => openings.get(transport)
