/**
 * Hints between the nodes of a server: that a list has changed, or a resource. A hint may be lost while a node is cut off from the bus,
 * and never blocks its sender.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Bus {
  /** Sends a hint to the other nodes, not to this one. Must not throw. At most 4 KiB; a longer one is dropped with a warning. */
  readonly publish: (topic: string, text: string) => void
  /** Calls a function with the hints of other nodes, until the scope closes. The function must not throw. */
  readonly subscribe: (topic: string, received: (text: string) => void) => Effect.Effect<void, never, Scope.Scope>
}
