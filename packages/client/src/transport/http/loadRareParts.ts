/** Loads what not every client over HTTP runs. */
import * as Effect from "effect/Effect"
import { imported, type Late } from "../../internal/Late.ts"
import type * as Parts from "./RareParts.ts"

export type RareHttp = typeof Parts

let parts: RareHttp | undefined

export const rareParts: Late<RareHttp> = {
  loaded: () => parts,
  load: Effect.map(
    imported(() => import("./RareParts.ts")),
    (found) => (parts = found)
  )
}
