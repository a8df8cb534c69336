/**
 * Makes V8 see short-lived Scopes and Contexts before the long-lived ones of a server's layers.
 *
 * V8 allocates objects from a code location in the old generation once a hundred of them have survived. The Scopes of
 * many tools survive, while the Scopes of requests come from the same location and die immediately. In the old
 * generation, each keeps its request alive until the next full collection, and a call costs a third more
 * (`packages/bench/NOTES.md`).
 */
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"

/** More than a server has layers. */
const many = 1000
/**
 * Number of servers in a process for which to warm up. A process with more servers, such as a test run, creates enough
 * short-lived Scopes anyway.
 */
let left = 10

export const warmUpScopes = (): void => {
  if (left-- <= 0) return
  for (let i = 0; i < many; i++) {
    const scope = Scope.makeUnsafe()
    Scope.forkUnsafe(scope)
    Context.add(Context.empty(), Scope.Scope, scope)
  }
}
