/** Writes files, and resolves the links in their paths. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import { usage } from "./Exit.ts"

/** Mode of new files that may hold secrets: only their owner can read them. */
export const privateMode = 0o600

/** Resolves the links in a path, as far as the path exists. */
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
 * Resolves the links in a path. Fails if they lead out of `folder`, because the links in a project may be hostile and must not reach the
 * user's other files. Without `folder`, all links are followed.
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

/**
 * Replaces a file as a whole: writes next to it and renames, so that no reader sees half of it. A link in its place is replaced, not
 * followed.
 */
export const replace = Effect.fnUntraced(function* (file: string, content: string | Uint8Array, mode: number) {
  const fs = yield* FileSystem.FileSystem
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
  const temporary = `${file}.${crypto.randomUUID().slice(0, 8)}.tmp`
  yield* fs.writeFile(temporary, bytes, { mode, flag: "wx" })
  // The umask removes bits from the mode of a new file.
  yield* Effect.onError(Effect.andThen(fs.chmod(temporary, mode), fs.rename(temporary, file)), () =>
    Effect.ignore(fs.remove(temporary))
  )
})

const isRefused = ({ reason }: PlatformError): boolean => reason._tag === "PermissionDenied" || reason._tag === "Busy"

interface WriteOptions {
  /** The folder that links may not lead out of. Default: they may lead anywhere. */
  readonly folder?: string | undefined
  /** Mode of a new file; an existing file keeps its mode. Default `privateMode`. */
  readonly mode?: number | undefined
}

/** Writes a whole file, after `resolve`. A device, a pipe or a file that cannot be replaced is written in place. */
export const write = Effect.fnUntraced(function* (
  file: string,
  content: string | Uint8Array,
  { folder, mode = privateMode }: WriteOptions = {}
) {
  const fs = yield* FileSystem.FileSystem
  const real = yield* resolve(file, folder)
  const written = Effect.gen(function* () {
    const before = yield* Effect.catchIf(
      Effect.asSome(fs.stat(real)),
      (error) => error.reason._tag === "NotFound",
      () => Effect.succeedNone
    )
    if (Option.isNone(before)) return yield* replace(real, content, mode)
    const inPlace = fs.writeFile(real, typeof content === "string" ? new TextEncoder().encode(content) : content)
    if (before.value.type !== "File") return yield* inPlace
    const replaced = replace(real, content, before.value.mode & 0o777)
    // The file may be writable in a read-only folder, or be a mount point.
    return yield* folder === undefined ? Effect.catchIf(replaced, isRefused, () => inPlace) : replaced
  })
  yield* Effect.mapError(written, ({ message }) => usage(`Cannot write ${file}: ${message}`))
})
