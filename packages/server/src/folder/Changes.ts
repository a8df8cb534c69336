/**
 * The changes in a folder, watched once for all sessions and files.
 *
 * Watches folder by folder, since recursive watching would descend into ignored ones, from the first `start` until the scope closes. A
 * save is often several events: those of one path within 30 ms are one change.
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

/** A file or a folder has changed. */
export interface FolderChange {
  /** Relative to the folder, with "/" between the names. */
  readonly path: string
  /** Whether it was added or removed, so that the list of files is different. */
  readonly listed: boolean
}

/** A watched folder. */
export interface WatchedFolder {
  /** Starts to watch, once; returns when every folder is watched. */
  readonly start: Effect.Effect<void>
  /** Changes from now on. None before `start`. */
  readonly changes: Stream.Stream<FolderChange>
}

/** Events of one path this close to each other are one change. */
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

  /** Watches a folder and all folders below; returns when they are watched. */
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
          Effect.catchTag("Missing", () => Effect.void), // removed before it could be watched
          Effect.catchCause((cause) => Effect.logWarning("A folder cannot be watched", cause)),
          Effect.ensuring(on)
        )
      )
      yield* Deferred.await(ready)
      // After the watch has begun: a file that is added from now on is an event.
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

  /** A new folder may have files already, before it is watched. */
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

  // A fiber of its own: the request that starts it may end before every folder is watched.
  const needed = Latch.makeUnsafe(false)
  const watching = yield* Effect.forkScoped(Effect.andThen(needed.await, watch([])))
  return { start: Effect.andThen(needed.open, Fiber.join(watching)), changes: Stream.fromPubSub(hub) }
})

/** One change per path, in the order of the first of each. */
const merge = (changes: ReadonlyArray<FolderChange>): ReadonlyArray<FolderChange> => {
  const byPath = new Map<string, FolderChange>()
  for (const { path, listed } of changes) {
    byPath.set(path, { path, listed: listed || byPath.get(path)?.listed === true })
  }
  return [...byPath.values()]
}
