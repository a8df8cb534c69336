/** Loads what not every client uses. */
import { late } from "../internal/Late.ts"

export const rareParts = late(() => import("./RareParts.ts"))
