/** Loads what not every client uses. */
import * as Effect from "effect/Effect"
import { imported, type Late } from "../internal/Late.ts"
import type * as Parts from "./RareParts.ts"

type RareParts = typeof Parts

let parts: RareParts | undefined

export const rareParts: Late<RareParts> = {
  loaded: () => parts,
  load: Effect.map(
    imported(() => import("./RareParts.ts")),
    (found) => (parts = found)
  )
}
