/** A folder as resources: URIs, the list of files, contents and changes. */
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Changes from "./Changes.ts"
import * as Media from "./Media.ts"
import * as Names from "./Names.ts"
import * as Tree from "./Tree.ts"

/** Which files are offered, and how. */
export interface Options {
  /** The URI of the folder, without a slash at its end. Default: the `file:` URL of its real path. */
  readonly uri?: string | undefined
  /** The largest file that is read, in bytes. Default 1 MiB, which fits into one message as base64. */
  readonly maxBytes?: number | undefined
  /** The most files that are listed and suggested; others can be read. Default 10 000. */
  readonly maxFiles?: number | undefined
  /** Whether files and folders whose name begins with a dot are offered. Default false. */
  readonly hidden?: boolean | undefined
  /** Names of files and folders that are not offered, without regard to case. Default `node_modules`. */
  readonly ignored?: ReadonlyArray<string> | undefined
  /** Media types by extension (lower case, without the dot), in addition to the usual ones or instead of them. */
  readonly types?: { readonly [extension: string]: string } | undefined
}

/** What the layer of a folder registers. */
export interface FolderFiles {
  readonly uriTemplate: string
  readonly list: Effect.Effect<ReadonlyArray<Resource>>
  readonly read: (path: string, uri: string) => Effect.Effect<ResourceContents, Tree.Missing | Tree.TooLarge>
  readonly complete: (value: string) => Effect.Effect<ReadonlyArray<string>>
  /** Changes of a file, or of a folder above it. */
  readonly changes: (path: string) => Stream.Stream<unknown>
  /** One event whenever a file or a folder was added or removed. */
  readonly listed: Stream.Stream<unknown>
}

/** Paths that begin with the text, then those that contain it; without regard to case. */
export const suggest = (files: ReadonlyArray<string>, value: string): ReadonlyArray<string> => {
  const typed = value.toLowerCase()
  const places = files.map((path) => path.toLowerCase().indexOf(typed))
  return [...files.filter((_, index) => places[index] === 0), ...files.filter((_, index) => (places[index] ?? 0) > 0)]
}

/** Fails when `root` does not exist. Watches from the first list or subscription until the scope closes. */
export const make = Effect.fnUntraced(function* (
  root: string,
  options: Options
): Effect.fn.Return<FolderFiles, PlatformError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { hidden = false, ignored = ["node_modules"], maxBytes = 1024 * 1024, maxFiles = 10_000, types } = options
  const admits = Names.policy({ hidden, ignored })
  const path = yield* Path.Path
  const tree = yield* Tree.make(root, admits)
  const uri = options.uri ?? (yield* Effect.orDie(path.toFileUrl(tree.root))).href.replace(/\/$/, "")
  const { changes, start } = yield* Changes.make(tree)
  const [files, forget] = yield* Effect.cachedInvalidateWithTTL(tree.files(maxFiles), "1 second")
  return {
    uriTemplate: `${uri}/{+path}`,
    // Watched first, so that no file that is added after the answer is missed.
    list: Effect.map(Effect.andThen(start, files), (all) =>
      all.map((file) => {
        const mimeType = Media.typeOf(file, types)
        return { uri: Names.toUri(uri, file), name: file, ...(mimeType === undefined ? undefined : { mimeType }) }
      })
    ),
    read: (file, uri) => {
      const names = Names.parse(file, admits)
      return names === undefined
        ? Effect.fail(new Tree.Missing())
        : Effect.map(tree.read(names, maxBytes), (bytes) => Media.contentsOf(uri, file, bytes, types))
    },
    complete: (value) => Effect.map(files, (all) => suggest(all, value)),
    changes: (file) => {
      if (Names.parse(file, admits) === undefined) return Stream.empty
      const events = Stream.filter(changes, (change) => Names.isWithin(change.path, file))
      // A change between the subscription and the start of the watch has no event of its own: the start is one.
      return Stream.merge(Stream.fromEffect(start), events)
    },
    listed: Stream.tap(
      Stream.filter(changes, (change) => change.listed),
      () => forget
    )
  }
})
