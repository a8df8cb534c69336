/**
 * Changes in a folder, watched once for all sessions and files.
 *
 * Each folder is watched separately, because a recursive watch would descend into ignored folders. Watching lasts from the first `start`
 * until the scope closes. Saving a file often causes several events, so events for the same path within 30 ms count as one change.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Path from "effect/Path"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Names from "./Names.ts"
import type * as Tree from "./Tree.ts"

/** A change to a file or folder. */
export interface FolderChange {
  /** Path relative to the folder, with "/" between the names. */
  readonly path: string
  /** True if the file was added or removed, which changes the list of files. */
  readonly listed: boolean
}

/** A watched folder. */
export interface WatchedFolder {
  /** Starts watching, once. Returns when every folder is being watched. */
  readonly start: Effect.Effect<void>
  /** Emits changes from now on, but none before `start`. */
  readonly changes: Stream.Stream<FolderChange>
}

/** Events for the same path within this time count as one change. */
const quiet = "30 millis"

/** Watches from the first `start` until the scope closes. */
export const make = Effect.fnUntraced(function* (
  tree: Tree.Tree
): Effect.fn.Return<WatchedFolder, never, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const hub = yield* PubSub.sliding<FolderChange>(4096)
  const raw = yield* Queue.sliding<FolderChange>(4096)
  const folders = yield* FiberMap.make<string>()

  yield* Effect.forkScoped(
    Stream.fromQueue(raw).pipe(
      Stream.groupedWithin(1024, quiet),
      Stream.runForEach((changes) => PubSub.publishAll(hub, merge(changes)))
    )
  )

  /** Watches a folder and all folders under it. Returns when they are all being watched. */
  const watch = (names: Names.Names): Effect.Effect<void> =>
    Effect.gen(function* () {
      const key = names.join("/")
      if (FiberMap.hasUnsafe(folders, key)) return
      const ready = Deferred.makeUnsafe<void>()
      const on = Effect.asVoid(Deferred.succeed(ready, undefined))
      const events = Stream.unwrap(
        Effect.map(tree.locate(names), (absolute) =>
          fs.watch(absolute, { onReady: () => Deferred.doneUnsafe(ready, Effect.void) })
        )
      )
      yield* FiberMap.run(
        folders,
        key,
        Stream.runForEach(events, (event) => notice(names, event)).pipe(
          Effect.catchTag("Missing", () => Effect.void), // the folder was removed before it could be watched
          Effect.catchCause((cause) => Effect.logWarning("Failed to watch a folder", cause)),
          Effect.ensuring(on)
        )
      )
      yield* Deferred.await(ready)
      // Read after watching has begun, so that a file added from now on causes an event.
      const { folders: below } = yield* tree.entries(names)
      yield* Effect.forEach(below, watch, { concurrency: 8, discard: true })
    })

  const notice = Effect.fnUntraced(function* (names: Names.Names, event: FileSystem.WatchEvent) {
    const name = path.basename(event.path)
    if (!tree.admits(name)) return
    const changed = [...names, name]
    yield* Queue.offer(raw, { path: changed.join("/"), listed: event._tag !== "Update" })
    if (event._tag === "Remove") yield* forget(changed)
    if (event._tag === "Create") yield* discover(changed)
  })

  /** A new folder may contain files before it is watched. */
  const discover = Effect.fnUntraced(function* (names: Names.Names): Effect.fn.Return<void> {
    if (!(yield* tree.isFolder(names))) return
    yield* watch(names)
    const { files, folders: below } = yield* tree.entries(names)
    for (const file of files) yield* Queue.offer(raw, { path: file.join("/"), listed: true })
    yield* Effect.forEach(below, discover, { discard: true })
  })

  const forget = (names: Names.Names): Effect.Effect<void> =>
    Effect.forEach(
      Array.from(folders, ([key]) => key).filter((key) => Names.isWithin(names.join("/"), key)),
      (key) => FiberMap.remove(folders, key),
      { discard: true }
    )

  // A separate fiber, because the request that starts it may end before every folder is watched.
  const needed = Latch.makeUnsafe(false)
  const watching = yield* Effect.forkScoped(Effect.andThen(needed.await, watch([])))
  return { start: Effect.andThen(needed.open, Fiber.join(watching)), changes: Stream.fromPubSub(hub) }
})

/** Merges each path's changes into one, in order of first occurrence. */
const merge = (changes: ReadonlyArray<FolderChange>): ReadonlyArray<FolderChange> => {
  const byPath = new Map<string, FolderChange>()
  for (const { path, listed } of changes) {
    byPath.set(path, { path, listed: listed || byPath.get(path)?.listed === true })
  }
  return [...byPath.values()]
}
