/**
 * The files of one folder, by relative path. Never accesses anything outside of
 * the folder.
 *
 * Reads, lists and renames files. Paths that don't exist, are outside, are
 * ignored or are links all fail in the same way, so that an answer does not
 * reveal the reason.
 */
import * as Names from "@effect-mcp/server/folder/Names"
import * as Tree from "@effect-mcp/server/folder/Tree"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Paths from "./Paths.ts"

/** A failed operation. `path` is the client's spelling. */
export class WorkspaceError extends Data.TaggedError("WorkspaceError")<{
  readonly reason: "Missing" | "Taken" | "TooLarge"
  readonly path: string
}> {
  override get message(): string {
    return `${reasons[this.reason]}: ${this.path}`
  }
}

/**
 * Maximum size of a file to read, in bytes. As Base64 in JSON, it still fits
 * into one message.
 */
export const maxBytes = 1024 * 1024

/** Maximum number of files to list and search. */
const maxFiles = 100_000

const reasons = {
  Missing: "Not in the workspace",
  Taken: "Already in the workspace",
  TooLarge: `Larger than ${maxBytes} bytes`
}

export class Workspace extends Context.Service<
  Workspace,
  {
    /** URI of the folder, without a trailing slash. */
    readonly uri: string
    /**
     * Sorted paths of all files. May be up to a second old, unless `forget` has
     * run.
     */
    readonly files: Effect.Effect<ReadonlyArray<string>>
    /** Makes the next `files` read the folder again. */
    readonly forget: Effect.Effect<void>
    /** Fails unless `path` is a file of the workspace. */
    readonly check: (path: string) => Effect.Effect<void, WorkspaceError>
    readonly read: (path: string) => Effect.Effect<Uint8Array, WorkspaceError>
    /** Renames a file. Never replaces a file or creates folders. */
    readonly rename: (
      from: string,
      to: string
    ) => Effect.Effect<void, WorkspaceError>
    /**
     * Returns the part of the folder inside `uri`: a path, an empty string for
     * the whole folder, or `undefined` if there is no overlap.
     */
    readonly covered: (uri: string) => Effect.Effect<string | undefined>
  }
>()("@effect-mcp/examples/workspace/Workspace") {
  /** Provides the workspace of a folder. Fails if the folder doesn't exist. */
  static readonly layer = (
    folder: string
  ): Layer.Layer<Workspace, PlatformError, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(Workspace, onDisk(folder))

  /**
   * Provides an in-memory workspace for tests, with contents by path. Its
   * folder is `file:///workspace`.
   */
  static readonly layerMemory = (files: {
    readonly [path: string]: string | Uint8Array
  }): Layer.Layer<Workspace> => Layer.sync(Workspace, () => inMemory(files))
}

const missing = (path: string) =>
  new WorkspaceError({ reason: "Missing", path })
const taken = (path: string) => new WorkspaceError({ reason: "Taken", path })

/** Splits a path from the client into names. */
const named = (path: string): Effect.Effect<Names.Names, WorkspaceError> => {
  const names = Paths.parse(path)
  return names === undefined
    ? Effect.fail(missing(path))
    : Effect.succeed(names)
}

const onDisk = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const tree = yield* Tree.make(folder, Paths.admits)
  const uri = (yield* Effect.orDie(path.toFileUrl(tree.root))).href.replace(
    /\/$/,
    ""
  )
  const [files, forget] = yield* Effect.cachedInvalidateWithTTL(
    tree.files(maxFiles),
    "1 second"
  )

  const opened = (file: string) =>
    Effect.mapError(Effect.flatMap(named(file), tree.openFile), () =>
      missing(file)
    )

  const read = (file: string): Effect.Effect<Uint8Array, WorkspaceError> =>
    Effect.flatMap(named(file), (names) =>
      Effect.mapError(
        tree.read(names, maxBytes),
        ({ _tag: reason }) => new WorkspaceError({ reason, path: file })
      )
    )

  const rename = Effect.fnUntraced(
    function* (from: string, to: string) {
      const { info, place } = yield* opened(from)
      const target = yield* named(to)
      const parent = yield* Effect.mapError(
        tree.openFolder(target.slice(0, -1)),
        () => missing(to)
      )
      const next = path.join(parent, ...target.slice(-1))
      // A link fails atomically if the name is taken. A rename would replace
      // the existing file.
      yield* Effect.mapError(fs.link(place, next), (error) =>
        error.reason._tag === "AlreadyExists" ? taken(to) : missing(to)
      )
      // Another file may have taken the name since it was opened.
      const sameFile = Effect.flatMap(fs.lstat(next), (linked) =>
        Tree.isSame(info, linked) ? Effect.void : Effect.fail(missing(from))
      )
      yield* Effect.onError(Effect.andThen(sameFile, fs.remove(place)), () =>
        Effect.ignore(fs.remove(next))
      )
      yield* forget
    },
    Effect.scoped,
    Effect.uninterruptible
  )

  const covered = Effect.fnUntraced(
    function* (root: string) {
      const url = new URL(root)
      const place = yield* Effect.flatMap(path.fromFileUrl(url), fs.realPath)
      const down = path.relative(tree.root, place)
      if (down === "") return ""
      if (path.isAbsolute(down)) return undefined // another drive
      const steps = down.split(path.sep)
      // Only "..": the root is above the folder and contains all of it.
      return steps.every((step) => step === "..")
        ? ""
        : steps.includes("..")
          ? undefined
          : steps.join("/")
    },
    // A root that is not a file URI or doesn't exist covers nothing.
    Effect.catchCause(() => Effect.succeed(undefined))
  )

  return Workspace.of({
    uri,
    files,
    forget,
    covered,
    read,
    check: (file) => Effect.asVoid(Effect.scoped(opened(file))),
    // The platform's error contains the real path, so it is not passed on.
    rename: (from, to) =>
      Effect.catchTag(rename(from, to), "PlatformError", () =>
        Effect.fail(missing(from))
      )
  })
})

const inMemory = (initial: {
  readonly [path: string]: string | Uint8Array
}): Workspace["Service"] => {
  const uri = "file:///workspace"
  const contents = new Map(
    Object.entries(initial).map(([path, content]) => [
      path,
      typeof content === "string" ? new TextEncoder().encode(content) : content
    ])
  )
  const read = (path: string): Effect.Effect<Uint8Array, WorkspaceError> =>
    Effect.suspend(() => {
      const content =
        Paths.parse(path) === undefined ? undefined : contents.get(path)
      return content === undefined
        ? Effect.fail(missing(path))
        : Effect.succeed(content)
    })
  return {
    uri,
    files: Effect.sync(() => [...contents.keys()].toSorted()),
    forget: Effect.void,
    check: (path) => Effect.asVoid(read(path)),
    read,
    rename: (from, to) =>
      Effect.flatMap(Effect.andThen(named(to), read(from)), (content) => {
        if (contents.has(to)) return Effect.fail(taken(to))
        contents.delete(from)
        contents.set(to, content)
        return Effect.void
      }),
    covered: (root) =>
      Effect.succeed(
        Names.isWithin(root, uri)
          ? ""
          : root.startsWith(`${uri}/`)
            ? root.slice(uri.length + 1)
            : undefined
      )
  }
}
