/**
 * Makes V8 see short-lived Scopes and Contexts before the long-lived ones of a server's layers.
 *
 * V8 allocates objects of a place in the code in the old generation once it has seen a hundred of them survive, such as the Scopes of a
 * hundred tools. The Scopes and Contexts of requests come from the same places and die at once: in the old generation each keeps its
 * request alive until the next full collection, and a call costs a third more (`packages/bench/NOTES.md`).
 */
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"

/** More than the layers of a server. */
const many = 1000

export const warmUpScopes = (): void => {
  for (let i = 0; i < many; i++) {
    const scope = Scope.makeUnsafe()
    Scope.forkUnsafe(scope)
    Context.add(Context.empty(), Scope.Scope, scope)
  }
}
