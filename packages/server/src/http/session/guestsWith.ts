/** Loads the guests of an endpoint: a server without them starts without the module. */
import * as Effect from "effect/Effect"
import type * as Guests from "./Guests.ts"

export const guestsWith = (options: Guests.Options): Effect.Effect<Guests.Guests> =>
  Effect.map(
    Effect.promise(() => import("./Guests.ts")),
    (module) => new module.Guests(options)
  )
