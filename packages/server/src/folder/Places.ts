/**
 * Names turned into places of a folder on disk, confined to it: the one module that does so.
 *
 * Symbolic links are never followed, whether they lead outside or not. Where the platform names open descriptors (Linux), a folder is
 * opened and the place of its descriptor compared. Its files are reached through the descriptor, so no later change of a link redirects
 * them. Elsewhere places are compared before and after: the names behind a link that exists only in between may be listed, and a
 * link that is swapped several times may be read.
 * Refuses entries that are neither files nor folders: opening a FIFO would block.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import type * as Names from "./Names.ts"

/** There is no such file for a client. Carries no cause: errors of the platform name places outside. */
export class Missing extends Data.TaggedError("Missing")<{}> {}

/** A regular file, opened. */
export interface OpenFile {
  readonly handle: FileSystem.File
  /** Of the descriptor. */
  readonly info: FileSystem.File.Info
  /** A path of the file, good while the scope lives. */
  readonly place: string
}

/** The places of one folder. */
export interface Places {
  /** The folder's real, absolute path. */
  readonly root: string
  /** Whether folders are reached through descriptors. Elsewhere a caller compares after it has read, by `locate`. */
  readonly descriptors: boolean
  /** Where `names` lie. No names: the folder itself. */
  readonly locate: (names: Names.Names) => Effect.Effect<string, Missing>
  /** A path of the folder that `names` are, good while the scope lives. */
  readonly openFolder: (names: Names.Names) => Effect.Effect<string, Missing, Scope.Scope>
  /** Opens a regular file. Nothing is read before it is known to lie in the place of its names. */
  readonly openFile: (names: Names.Names) => Effect.Effect<OpenFile, Missing, Scope.Scope>
}

export const missing = Effect.mapError(() => new Missing())

/** Whether both are the same file, not just files of the same name. */
export const isSame = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** The path of an open descriptor, where the platform has such paths. */
const descriptorPath = (handle: FileSystem.File): string | undefined =>
  "fd" in handle && typeof handle.fd === "number" ? `/proc/self/fd/${handle.fd}` : undefined

/** Fails when `folder` does not exist. */
export const make = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<Places, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = yield* fs.realPath(path.resolve(folder))
  // Windows cannot open a file without following links; there only the comparison afterwards protects.
  const noFollow = path.sep === "/"

  const locate: Places["locate"] = Effect.fnUntraced(function* (names) {
    const absolute = path.join(root, ...names)
    return (yield* fs.realPath(absolute)) === absolute ? absolute : yield* new Missing()
  }, missing)

  /** The descriptor's own path of a folder, or `undefined` where there is none. */
  const opened = Effect.fnUntraced(function* (absolute: string) {
    // With the dot at the end, opening anything but a folder is an error at once, also a FIFO.
    const handle = yield* fs.open(`${absolute}${path.sep}.`, { flag: "r" })
    const place = descriptorPath(handle)
    if (place === undefined) return undefined
    const real = yield* fs.readLink(place)
    return real === absolute ? place : yield* new Missing()
  })
  const descriptors = yield* Effect.scoped(opened(root)).pipe(
    Effect.map((place) => place !== undefined),
    Effect.orElseSucceed(() => false)
  )

  const openFolder: Places["openFolder"] = (names) =>
    Effect.flatMap(locate(names), (absolute) =>
      descriptors ? Effect.map(missing(opened(absolute)), (place) => place ?? absolute) : Effect.succeed(absolute)
    )

  const openFile: Places["openFile"] = Effect.fnUntraced(function* (names) {
    const name = names.at(-1)
    if (name === undefined) return yield* new Missing()
    const place = path.join(yield* openFolder(names.slice(0, -1)), name)
    if ((yield* fs.lstat(place)).type !== "File") return yield* new Missing()
    const handle = yield* fs.open(place, { flag: "r", noFollow })
    const info = yield* handle.stat
    if (info.type !== "File") return yield* new Missing()
    if (!descriptors && !isSame(info, yield* Effect.flatMap(locate(names), fs.lstat))) return yield* new Missing()
    return { handle, info, place }
  }, missing)

  return { root, descriptors, locate, openFolder, openFile }
})
