/**
 * Tells V8's collector that Scopes do not live long, before it takes them for what they are while a server is built.
 *
 * A hundred tools are a hundred layers, each with a Scope that stays. Where V8 sees a hundred objects of one place in the code stay, it
 * makes all later ones of that place in the old generation: the Scopes of requests, too, which die at once. Until the next full
 * collection such a dead one keeps alive whatever its request was, young collections copy it all, and take twenty times as long
 * (`packages/bench/NOTES.md`: a call costs a third more). What it has seen die first it does not reconsider.
 */
import * as Scope from "effect/Scope"

/** More than the layers that are built in the same time. */
const many = 1000

export const shortLived = (): void => {
  for (let i = 0; i < many; i++) Scope.forkUnsafe(Scope.makeUnsafe())
}
