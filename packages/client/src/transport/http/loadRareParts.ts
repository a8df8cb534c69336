/** Loads what not every client over HTTP runs. */
import { late } from "../../internal/Late.ts"

export const rareParts = late(() => import("./RareParts.ts"))
