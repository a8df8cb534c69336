/**
 * Makes V8 see short-lived Scopes before the long-lived ones of a server's layers.
 *
 * V8 allocates objects of a place in the code in the old generation once it has seen a hundred of them survive, such as the Scopes of a
 * hundred tools. The Scopes of requests come from the same place and die at once: in the old generation each keeps its request alive
 * until the next full collection, and a call costs a third more (`packages/bench/NOTES.md`).
 */
import * as Scope from "effect/Scope"

/** More than the layers of a server. */
const many = 1000

export const warmUpScopes = (): void => {
  for (let i = 0; i < many; i++) Scope.forkUnsafe(Scope.makeUnsafe())
}
