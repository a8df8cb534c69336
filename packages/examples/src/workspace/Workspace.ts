/**
 * The files of one folder, as the rest of the example sees them: by relative path, and never a step outside.
 *
 * Owns reading, listing and renaming. What does not exist, lies outside, is ignored or is a link fails in the same way:
 * an answer never tells which it was.
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

/** `path` is as the client wrote it. */
export class WorkspaceError extends Data.TaggedError("WorkspaceError")<{
  readonly reason: "Missing" | "Taken" | "TooLarge"
  readonly path: string
}> {
  override get message(): string {
    return `${reasons[this.reason]}: ${this.path}`
  }
}

/** The largest file that is read, in bytes. Base64 in JSON, it still fits into one message. */
export const maxBytes = 1024 * 1024

/** The most files that are listed and searched. */
const maxFiles = 100_000

const reasons = {
  Missing: "Not in the workspace",
  Taken: "Already in the workspace",
  TooLarge: `Larger than ${maxBytes} bytes`
}

export class Workspace extends Context.Service<
  Workspace,
  {
    /** The folder's own URI, without a slash at its end. */
    readonly uri: string
    /** The paths of all files, sorted. May be a second old, unless `forget` ran. */
    readonly files: Effect.Effect<ReadonlyArray<string>>
    /** Makes the next `files` look again. */
    readonly forget: Effect.Effect<void>
    /** Fails unless `path` is a file of the workspace. */
    readonly check: (path: string) => Effect.Effect<void, WorkspaceError>
    readonly read: (path: string) => Effect.Effect<Uint8Array, WorkspaceError>
    /** Never replaces a file, and makes no folders. */
    readonly rename: (from: string, to: string) => Effect.Effect<void, WorkspaceError>
    /** The part of the folder that lies in what `uri` names: a path, empty for all of it; `undefined` for none. */
    readonly covered: (uri: string) => Effect.Effect<string | undefined>
  }
>()("@effect-mcp/examples/workspace/Workspace") {
  /** The workspace over a folder. Fails when it is not there. */
  static readonly layer = (folder: string): Layer.Layer<Workspace, PlatformError, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(Workspace, onDisk(folder))

  /** A workspace in memory, for tests: content by path. Its folder is `file:///workspace`. */
  static readonly layerMemory = (files: { readonly [path: string]: string | Uint8Array }): Layer.Layer<Workspace> =>
    Layer.sync(Workspace, () => inMemory(files))
}

const missing = (path: string) => new WorkspaceError({ reason: "Missing", path })
const taken = (path: string) => new WorkspaceError({ reason: "Taken", path })

/** What a client wrote as a path, as names. */
const named = (path: string): Effect.Effect<Names.Names, WorkspaceError> => {
  const names = Paths.parse(path)
  return names === undefined ? Effect.fail(missing(path)) : Effect.succeed(names)
}

const onDisk = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const tree = yield* Tree.make(folder, Paths.admits)
  const uri = (yield* Effect.orDie(path.toFileUrl(tree.root))).href.replace(/\/$/, "")
  const [files, forget] = yield* Effect.cachedInvalidateWithTTL(tree.files(maxFiles), "1 second")

  const opened = (file: string) => Effect.mapError(Effect.flatMap(named(file), tree.openFile), () => missing(file))

  const read = (file: string): Effect.Effect<Uint8Array, WorkspaceError> =>
    Effect.flatMap(named(file), (names) =>
      Effect.mapError(tree.read(names, maxBytes), ({ _tag: reason }) => new WorkspaceError({ reason, path: file }))
    )

  const rename = Effect.fnUntraced(
    function* (from: string, to: string) {
      const { info, place } = yield* opened(from)
      const target = yield* named(to)
      const parent = yield* Effect.mapError(tree.openFolder(target.slice(0, -1)), () => missing(to))
      const next = path.join(parent, ...target.slice(-1))
      // A link refuses a name that is taken, in the same step; a rename would replace what is there.
      yield* Effect.mapError(fs.link(place, next), (error) =>
        error.reason._tag === "AlreadyExists" ? taken(to) : missing(to)
      )
      // Another file may have taken the name since it was opened.
      const sameFile = Effect.flatMap(fs.lstat(next), (linked) =>
        Tree.isSame(info, linked) ? Effect.void : Effect.fail(missing(from))
      )
      yield* Effect.onError(Effect.andThen(sameFile, fs.remove(place)), () => Effect.ignore(fs.remove(next)))
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
      // Up and up only: the root lies above the folder, which is inside it entirely.
      return steps.every((step) => step === "..") ? "" : steps.includes("..") ? undefined : steps.join("/")
    },
    // A root that is no file URI or that is not there covers nothing.
    Effect.catchCause(() => Effect.succeed(undefined))
  )

  return Workspace.of({
    uri,
    files,
    forget,
    covered,
    read,
    check: (file) => Effect.asVoid(Effect.scoped(opened(file))),
    // Whatever the platform says names the real place: it stays here.
    rename: (from, to) => Effect.catchTag(rename(from, to), "PlatformError", () => Effect.fail(missing(from)))
  })
})

const inMemory = (initial: { readonly [path: string]: string | Uint8Array }): Workspace["Service"] => {
  const uri = "file:///workspace"
  const contents = new Map(
    Object.entries(initial).map(([path, content]) => [
      path,
      typeof content === "string" ? new TextEncoder().encode(content) : content
    ])
  )
  const read = (path: string): Effect.Effect<Uint8Array, WorkspaceError> =>
    Effect.suspend(() => {
      const content = Paths.parse(path) === undefined ? undefined : contents.get(path)
      return content === undefined ? Effect.fail(missing(path)) : Effect.succeed(content)
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
        Names.isWithin(root, uri) ? "" : root.startsWith(`${uri}/`) ? root.slice(uri.length + 1) : undefined
      )
  }
}
