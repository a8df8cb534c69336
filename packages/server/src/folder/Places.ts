/**
 * Maps names to places on disk, confined to one folder. Only this module does so.
 *
 * Symbolic links are never followed, even if they stay inside the folder. If the platform has paths for open
 * descriptors (Linux), a folder is opened and its descriptor's place is compared. Its files are then reached through
 * the descriptor, so changing a link later can't redirect them. On other platforms, places are compared before and
 * after. There, names behind a link that exists only in between may be listed, and a link that is swapped several times
 * may be read. Entries other than files and folders are rejected, because opening a FIFO would block.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import type * as Names from "./Names.ts"

/**
 * The file doesn't exist as far as clients are concerned. The error has no cause, because platform errors contain paths
 * outside the folder.
 */
export class Missing extends Data.TaggedError("Missing")<{}> {}

/** An open regular file. */
export interface OpenFile {
  readonly handle: FileSystem.File
  /** The descriptor's file information. */
  readonly info: FileSystem.File.Info
  /** A path to the file, valid while the scope is open. */
  readonly place: string
}

/** A folder's places. */
export interface Places {
  /** The folder's real, absolute path. */
  readonly root: string
  /** True if folders are reached through descriptors. Otherwise callers must compare with `locate` after reading. */
  readonly descriptors: boolean
  /** Returns the place for `names`. An empty list means the folder itself. */
  readonly locate: (names: Names.Names) => Effect.Effect<string, Missing>
  /** Returns a path to the folder at `names`, valid while the scope is open. */
  readonly openFolder: (names: Names.Names) => Effect.Effect<string, Missing, Scope.Scope>
  /** Opens a regular file. Nothing is read until the file is known to be in the place that its names denote. */
  readonly openFile: (names: Names.Names) => Effect.Effect<OpenFile, Missing, Scope.Scope>
}

export const missing = Effect.mapError(() => new Missing())

/** True if both are the same file, and not just files with the same name. */
export const isSame = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** Returns the path of an open descriptor, if the platform has such paths. */
const descriptorPath = (handle: FileSystem.File): string | undefined =>
  "fd" in handle && typeof handle.fd === "number" ? `/proc/self/fd/${handle.fd}` : undefined

/** Opens a folder's places. Fails if `folder` doesn't exist. */
export const make = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<Places, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = yield* fs.realPath(path.resolve(folder))
  // Windows cannot open a file without following links. There, only the comparison afterwards protects.
  const noFollow = path.sep === "/"

  const locate: Places["locate"] = Effect.fnUntraced(function* (names) {
    const absolute = path.join(root, ...names)
    return (yield* fs.realPath(absolute)) === absolute ? absolute : yield* new Missing()
  }, missing)

  /** Returns a folder's path through its descriptor, or `undefined` if there is none. */
  const opened = Effect.fnUntraced(function* (absolute: string) {
    // With the trailing dot, opening anything but a folder, including a FIFO, fails immediately.
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
