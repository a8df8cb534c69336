/** Loads what not every client uses. */
import * as Effect from "effect/Effect"
import type { Late } from "../internal/Late.ts"
import type * as Parts from "./RareParts.ts"

type RareParts = typeof Parts

let parts: RareParts | undefined

export const rareParts: Late<RareParts> = {
  loaded: () => parts,
  load: Effect.map(
    Effect.promise(() => import("./RareParts.ts")),
    (found) => (parts = found)
  )
}
