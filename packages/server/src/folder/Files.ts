/** Serves a folder as resources: URIs, the list of files, their contents, and changes. */
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

/** Which files to serve, and how. */
export interface Options {
  /** The folder's URI, without a trailing slash. Defaults to the `file:` URL of its real path. */
  readonly uri?: string | undefined
  /** Maximum size in bytes of a file that clients can read. Default 1 MiB, which fits in one message as base64. */
  readonly maxBytes?: number | undefined
  /** Maximum number of files to list and suggest. Clients can still read other files. Default 10 000. */
  readonly maxFiles?: number | undefined
  /** Whether to serve files and folders whose name starts with a dot. Default false. */
  readonly hidden?: boolean | undefined
  /** Names of files and folders to hide, ignoring case. Default `node_modules`. */
  readonly ignored?: ReadonlyArray<string> | undefined
  /** Media types by extension (in lower case, without the dot). They extend or override the built-in ones. */
  readonly types?: { readonly [extension: string]: string } | undefined
}

/** The parts that a folder's layer registers. */
export interface FolderFiles {
  readonly uriTemplate: string
  readonly list: Effect.Effect<ReadonlyArray<Resource>>
  readonly read: (path: string, uri: string) => Effect.Effect<ResourceContents, Tree.Missing | Tree.TooLarge>
  readonly complete: (value: string) => Effect.Effect<ReadonlyArray<string>>
  /** Emits changes to a file, or to a folder that contains it. */
  readonly changes: (path: string) => Stream.Stream<unknown>
  /** Emits whenever a file or folder is added or removed. */
  readonly listed: Stream.Stream<unknown>
}

/** Returns the paths that start with the text, then the paths that contain it, ignoring case. */
export const suggest = (files: ReadonlyArray<string>, value: string): ReadonlyArray<string> => {
  const typed = value.toLowerCase()
  const places = files.map((path) => path.toLowerCase().indexOf(typed))
  return [...files.filter((_, index) => places[index] === 0), ...files.filter((_, index) => (places[index] ?? 0) > 0)]
}

/** Opens the folder. Fails if `root` doesn't exist. Watches the folder from the first list or subscription until the scope closes. */
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
    // Watches first, so that no file that is added after the answer is missed.
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
      // A change between the subscription and the start of watching has no event, so the start counts as one.
      return Stream.merge(Stream.fromEffect(start), events)
    },
    listed: Stream.tap(
      Stream.filter(changes, (change) => change.listed),
      () => forget
    )
  }
})
