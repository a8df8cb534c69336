/** The rare parts as an exchange needs them: without them it fails as one whose answer could not be read. */
import * as Effect from "effect/Effect"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import { rareParts } from "./loadRareParts.ts"
import type * as RareParts from "./RareParts.ts"

/** At once where the parts are loaded. `unused` runs where they are not loaded, and where the wait for them is interrupted. */
export const withRareParts = <A>(
  use: (parts: typeof RareParts) => Effect.Effect<A, ExchangeFailure.ExchangeFailure>,
  unused: Effect.Effect<void> = Effect.void
): Effect.Effect<A, ExchangeFailure.ExchangeFailure> => {
  const found = rareParts.loaded()
  if (found !== undefined) return use(found)
  const load = Effect.mapError(rareParts.load, ExchangeFailure.notLoaded)
  return Effect.flatMap(
    Effect.onError(load, () => unused),
    use
  )
}
