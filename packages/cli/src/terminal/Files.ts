/** Paths and modes of the files that the command reads and writes. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import { usage } from "./Exit.ts"

/** Mode of new files that may hold secrets: only their owner can read them. */
export const privateMode = 0o600

/** Resolves the links of a path as far as it exists. */
const realPath = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const resolve = (at: string): Effect.Effect<string, PlatformError> =>
    Effect.catchIf(
      fs.realPath(at),
      (error) => error.reason._tag === "NotFound" && path.dirname(at) !== at,
      () => Effect.map(resolve(path.dirname(at)), (parent) => path.join(parent, path.basename(at)))
    )
  return yield* resolve(file)
})

/**
 * Resolves the links of a path. Fails if they lead out of `folder`: a project comes with links that strangers made,
 * and the files of its user are none of theirs. Without `folder` the path is the user's, and any link is followed.
 */
export const resolve = Effect.fnUntraced(
  function* (file: string, folder: string | undefined) {
    const path = yield* Path.Path
    const real = yield* realPath(file)
    if (folder === undefined || real.startsWith((yield* realPath(folder)) + path.sep)) return real
    return yield* usage(
      `${file} is a link to ${real}, outside of the project ${folder}. Replace the link with a file, or leave out --project`
    )
  },
  (effect, file) => Effect.catchTag(effect, "PlatformError", ({ message }) => usage(`Cannot use ${file}: ${message}`))
)
