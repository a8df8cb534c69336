/**
 * A folder on disk, confined: the one module that turns names into places, and so the one that can be wrong about it.
 *
 * Symbolic links are never followed, whether they lead outside or not: a place counts only if the real path of it is exactly where
 * its names say. Refuses everything that is neither a file nor a folder (a FIFO would block whoever opens it).
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Paths from "./Paths.ts"

/** There is nothing there that a client may know of. Carries nothing: what the platform said names places outside. */
export class Missing extends Data.TaggedError("Missing")<{}> {}

export interface Entries {
  readonly files: ReadonlyArray<Paths.Names>
  readonly folders: ReadonlyArray<Paths.Names>
}

export interface Tree {
  /** The folder's real, absolute path. */
  readonly root: string
  /** Where `names` lie. No names: the folder itself. */
  readonly locate: (names: Paths.Names) => Effect.Effect<string, Missing>
  /** The absolute path of a file and what `lstat` says of it. */
  readonly locateFile: (
    names: Paths.Names
  ) => Effect.Effect<{ readonly absolute: string; readonly info: FileSystem.File.Info }, Missing>
  readonly isFolder: (names: Paths.Names) => Effect.Effect<boolean>
  /** What lies directly in a folder; nothing when it is gone. */
  readonly entries: (names: Paths.Names) => Effect.Effect<Entries>
}

/** Whether both are the same file, not just files of the same name. */
export const isSame = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** Fails when `folder` is not there. */
export const make = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<Tree, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = yield* fs.realPath(path.resolve(folder))

  const locate: Tree["locate"] = Effect.fnUntraced(
    function* (names) {
      const absolute = path.join(root, ...names)
      return (yield* fs.realPath(absolute)) === absolute ? absolute : yield* new Missing()
    },
    Effect.mapError(() => new Missing())
  )

  return {
    root,
    locate,
    locateFile: Effect.fnUntraced(
      function* (names) {
        const absolute = yield* locate(names)
        const info = yield* fs.lstat(absolute)
        return info.type === "File" ? { absolute, info } : yield* new Missing()
      },
      Effect.mapError(() => new Missing())
    ),
    isFolder: (names) =>
      Effect.flatMap(locate(names), fs.lstat).pipe(
        Effect.map((info) => info.type === "Directory"),
        Effect.orElseSucceed(() => false)
      ),
    entries: Effect.fnUntraced(
      function* (names) {
        const all = yield* Effect.flatMap(locate(names), fs.readDirectoryEntries)
        const named = all.filter(({ name }) => Paths.isName(name))
        const ofType = (type: FileSystem.File.Type) =>
          named.filter((entry) => entry.type === type).map(({ name }) => [...names, name])
        return { files: ofType("File"), folders: ofType("Directory") }
      },
      Effect.orElseSucceed(() => ({ files: [], folders: [] }))
    )
  }
})
