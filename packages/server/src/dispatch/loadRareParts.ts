/** Loads what few servers use. */
import * as Effect from "effect/Effect"

export const loadRareParts = Effect.promise(() => import("./RareParts.ts"))
