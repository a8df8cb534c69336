/**
 * Makes V8 see short-lived Scopes and Contexts before the long-lived ones of a server's layers.
 *
 * V8 allocates objects of one place in the code in the old generation once a hundred of them survived. The Scopes of many tools are such,
 * and those of requests come from the same place and die at once. In the old generation each keeps its request alive until the next full
 * collection, and a call costs a third more (`packages/bench/NOTES.md`).
 */
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"

/** More than the layers of a server. */
const many = 1000
/** The servers before which it is done. A process with more of them, such as a test, has short-lived ones. */
let left = 10

export const warmUpScopes = (): void => {
  if (left-- <= 0) return
  for (let i = 0; i < many; i++) {
    const scope = Scope.makeUnsafe()
    Scope.forkUnsafe(scope)
    Context.add(Context.empty(), Scope.Scope, scope)
  }
}
