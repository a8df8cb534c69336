/**
 * A folder's contents on disk: its files, their bytes, and its subfolders. `Places` confines it to the folder. Only names that the policy
 * allows are listed.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Names from "./Names.ts"
import * as Places from "./Places.ts"

export { isSame, Missing, type OpenFile } from "./Places.ts"

/** The file is larger than the folder's options allow. */
export class TooLarge extends Data.TaggedError("TooLarge")<{ readonly maxBytes: number }> {}

/** The entries directly in a folder. */
export interface TreeEntries {
  readonly files: ReadonlyArray<Names.Names>
  readonly folders: ReadonlyArray<Names.Names>
  /** Links, sockets and other special files, which are never read. */
  readonly others: ReadonlyArray<Names.Names>
}

/** A folder on disk. */
export interface Tree extends Omit<Places.Places, "descriptors"> {
  readonly admits: Names.NamePolicy
  /** Reads a file. Fails if it is larger than `maxBytes`, even if it grows while being read. */
  readonly read: (names: Names.Names, maxBytes: number) => Effect.Effect<Uint8Array, Places.Missing | TooLarge>
  readonly isFolder: (names: Names.Names) => Effect.Effect<boolean>
  /** Lists the allowed files and folders directly inside a folder. Empty if the folder is gone. */
  readonly entries: (names: Names.Names) => Effect.Effect<TreeEntries>
  /** Returns the sorted paths of the first `limit` files under the folder. */
  readonly files: (limit: number) => Effect.Effect<ReadonlyArray<string>>
}

/** Opens a folder. Fails if `folder` doesn't exist. */
export const make = Effect.fnUntraced(function* (
  folder: string,
  admits: Names.NamePolicy
): Effect.fn.Return<Tree, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const { descriptors, locate, openFile, openFolder, root } = yield* Places.make(folder)

  const read: Tree["read"] = Effect.fnUntraced(function* (names, maxBytes) {
    const { handle, info } = yield* openFile(names)
    // Counts the bytes, because a file may grow while it is read, and files in /proc report size 0.
    const parts: Array<Uint8Array> = []
    let length = 0
    if (Number(info.size) > maxBytes) return yield* new TooLarge({ maxBytes })
    for (;;) {
      const part = Option.getOrUndefined(yield* Places.missing(handle.readAlloc(Math.max(Number(info.size), 4096) + 1)))
      if (part === undefined || part.length === 0) return concat(parts, length)
      parts.push(part)
      length += part.length
      if (length > maxBytes) return yield* new TooLarge({ maxBytes })
    }
  }, Effect.scoped)

  const entries: Tree["entries"] = Effect.fnUntraced(
    function* (names) {
      const all = yield* Effect.flatMap(openFolder(names), fs.readDirectoryEntries)
      // Without descriptors, another folder may have been listed. Fails unless this one is in its place.
      if (!descriptors) yield* locate(names)
      const named = all.filter(({ name }) => admits(name))
      const where = (has: (type: FileSystem.File.Type) => boolean) =>
        named.filter((entry) => has(entry.type)).map(({ name }) => [...names, name])
      return {
        files: where((type) => type === "File"),
        folders: where((type) => type === "Directory"),
        others: where((type) => type !== "File" && type !== "Directory")
      }
    },
    Effect.scoped,
    Effect.orElseSucceed(() => ({ files: [], folders: [], others: [] }))
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
