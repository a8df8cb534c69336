/** Loads the modules of folders when the first folder is offered, so that other servers start without them. */
import * as Effect from "effect/Effect"
import type { Options } from "./Folder.ts"

export const make = Effect.fnUntraced(function* (root: string, options: Options) {
  const folder = yield* Effect.promise(() => import("./Folder.ts"))
  return yield* folder.make(root, options)
})
