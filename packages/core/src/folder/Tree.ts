/**
 * A folder on disk, confined: the one module that turns names into places.
 *
 * Symbolic links are never followed, whether they lead outside or not. Where the platform names open descriptors (Linux), a folder is
 * opened, the place of the descriptor is compared, and everything in it is reached through the descriptor: no later change of a link
 * redirects it. Elsewhere places are compared before and after: a link that is put there and taken away in between may have its names
 * listed, and one that is swapped several times may be read.
 * Refuses everything that is neither a file nor a folder: opening a FIFO would block.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import type * as Names from "./Names.ts"

/** There is nothing there that a client may know of. Carries nothing: what the platform said names places outside. */
export class Missing extends Data.TaggedError("Missing")<{}> {}

/** The file has more bytes than the folder's owner allows. */
export class TooLarge extends Data.TaggedError("TooLarge")<{ readonly maxBytes: number }> {}

export interface Entries {
  readonly files: ReadonlyArray<Names.Names>
  readonly folders: ReadonlyArray<Names.Names>
}

export interface OpenFile {
  readonly handle: FileSystem.File
  /** What the descriptor says of itself. */
  readonly info: FileSystem.File.Info
  /** A path of the file, good while the scope lives. */
  readonly place: string
}

export interface Tree {
  /** The folder's real, absolute path. */
  readonly root: string
  readonly admits: Names.Policy
  /** Where `names` lie. No names: the folder itself. */
  readonly locate: (names: Names.Names) => Effect.Effect<string, Missing>
  /** A path of the folder that `names` are, good while the scope lives. */
  readonly openFolder: (names: Names.Names) => Effect.Effect<string, Missing, Scope.Scope>
  /** Opens a regular file. Nothing is read before it is known to lie where its names say. */
  readonly openFile: (names: Names.Names) => Effect.Effect<OpenFile, Missing, Scope.Scope>
  readonly read: (names: Names.Names, maxBytes: number) => Effect.Effect<Uint8Array, Missing | TooLarge>
  readonly isFolder: (names: Names.Names) => Effect.Effect<boolean>
  /** What lies directly in a folder; nothing when it is gone. */
  readonly entries: (names: Names.Names) => Effect.Effect<Entries>
  /** The paths of the first `limit` files below, sorted. */
  readonly files: (limit: number) => Effect.Effect<ReadonlyArray<string>>
}

const missing = Effect.mapError(() => new Missing())

/** Whether both are the same file, not just files of the same name. */
export const isSame = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** The path of an open descriptor, where the platform has such paths. */
const descriptorPath = (handle: FileSystem.File): string | undefined =>
  "fd" in handle && typeof handle.fd === "number" ? `/proc/self/fd/${handle.fd}` : undefined

/** Fails when `folder` is not there. */
export const make = Effect.fnUntraced(function* (
  folder: string,
  admits: Names.Policy
): Effect.fn.Return<Tree, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = yield* fs.realPath(path.resolve(folder))
  // Windows cannot open without following; there the comparison afterwards is alone.
  const noFollow = path.sep === "/"

  const locate: Tree["locate"] = Effect.fnUntraced(function* (names) {
    const absolute = path.join(root, ...names)
    return (yield* fs.realPath(absolute)) === absolute ? absolute : yield* new Missing()
  }, missing)

  /** The descriptor's own path of a folder, or `undefined` where there is none. */
  const opened = Effect.fnUntraced(function* (absolute: string) {
    // The dot at the end makes everything but a folder an error at once, also a FIFO.
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

  const openFolder: Tree["openFolder"] = (names) =>
    Effect.flatMap(locate(names), (absolute) =>
      descriptors ? Effect.map(missing(opened(absolute)), (place) => place ?? absolute) : Effect.succeed(absolute)
    )

  const openFile: Tree["openFile"] = Effect.fnUntraced(function* (names) {
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

  const read: Tree["read"] = Effect.fnUntraced(function* (names, maxBytes) {
    const { handle, info } = yield* openFile(names)
    // A file may grow meanwhile, and one of /proc says that it is empty: the bytes count, not the size.
    const parts: Array<Uint8Array> = []
    let length = 0
    if (Number(info.size) > maxBytes) return yield* new TooLarge({ maxBytes })
    for (;;) {
      const part = Option.getOrUndefined(yield* missing(handle.readAlloc(Math.max(Number(info.size), 4096) + 1)))
      if (part === undefined || part.length === 0) return concat(parts, length)
      parts.push(part)
      length += part.length
      if (length > maxBytes) return yield* new TooLarge({ maxBytes })
    }
  }, Effect.scoped)

  const entries: Tree["entries"] = Effect.fnUntraced(
    function* (names) {
      const all = yield* Effect.flatMap(openFolder(names), fs.readDirectoryEntries)
      // Without descriptors another folder may have been listed: what it holds is told only if this one is there now.
      if (!descriptors) yield* locate(names)
      const named = all.filter(({ name }) => admits(name))
      const ofType = (type: FileSystem.File.Type) =>
        named.filter((entry) => entry.type === type).map(({ name }) => [...names, name])
      return { files: ofType("File"), folders: ofType("Directory") }
    },
    Effect.scoped,
    Effect.orElseSucceed(() => ({ files: [], folders: [] }))
  )

  const files: Tree["files"] = Effect.fnUntraced(function* (limit) {
    const found: Array<string> = []
    let level: ReadonlyArray<Names.Names> = [[]]
    while (level.length > 0 && found.length < limit) {
      const all = yield* Effect.forEach(level, entries, { concurrency: 8 })
      for (const { files } of all) for (const names of files) found.push(names.join("/"))
      level = all.flatMap(({ folders }) => folders)
    }
    return found.slice(0, limit).toSorted()
  })

  return {
    root,
    admits,
    locate,
    openFolder,
    openFile,
    read,
    entries,
    files,
    isFolder: (names) =>
      Effect.flatMap(locate(names), fs.lstat).pipe(
        Effect.map((info) => info.type === "Directory"),
        Effect.orElseSucceed(() => false)
      )
  }
})

const concat = (parts: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0]
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
