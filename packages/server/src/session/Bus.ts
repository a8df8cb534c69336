/**
 * Hints between a server's nodes: a list or a resource has changed. A hint may be lost while a node is disconnected from the bus. It never
 * blocks its sender.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Bus {
  /** Sends a hint to all nodes except this one. Must not throw. Hints longer than 4 KiB are dropped with a warning. */
  readonly publish: (topic: string, text: string) => void
  /** Calls a function with other nodes' hints, until the scope closes. The function must not throw. */
  readonly subscribe: (topic: string, received: (text: string) => void) => Effect.Effect<void, never, Scope.Scope>
}
