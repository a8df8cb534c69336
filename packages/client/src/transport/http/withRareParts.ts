/** The rare parts as an exchange needs them: without them it fails as one whose answer could not be read. */
import * as Effect from "effect/Effect"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import { type RareHttp, rareParts } from "./loadRareParts.ts"

/** At once where the parts are loaded. */
export const withRareParts = <A>(
  use: (parts: RareHttp) => Effect.Effect<A, ExchangeFailure.ExchangeFailure>
): Effect.Effect<A, ExchangeFailure.ExchangeFailure> => {
  const found = rareParts.loaded()
  return found === undefined
    ? Effect.flatMap(Effect.mapError(rareParts.load, ExchangeFailure.notLoaded), use)
    : use(found)
}
