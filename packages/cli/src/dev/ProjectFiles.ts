/**
 * Watches a project's files with chokidar, so that the server can be restarted after a change.
 *
 * Ignores dependencies, build output, logs and databases.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** A folder cannot be watched. */
export class WatchError extends Data.TaggedError("WatchError")<{ readonly message: string }> {}

const folders = new Set([
  "__pycache__",
  "build",
  "coverage",
  "dist",
  "logs",
  "node_modules",
  "out",
  "target",
  "temp",
  "tmp",
  "venv"
])
const files = /~$|\.(log|tmp|temp|swp|swo|pid|pyc|tsbuildinfo|db|sqlite3?)$|-(journal|wal|shm)$/i

/** True if changes at this path are ignored. The segments are relative to the watched folder. */
export const isIgnored = (segments: ReadonlyArray<string>): boolean =>
  segments.some((name, index) => {
    // The file .env affects the server. Other dotfiles belong to tools.
    if (name.startsWith(".")) return index < segments.length - 1 || !/^\.env(\.|$)/.test(name)
    return folders.has(name) || files.test(name)
  })

/** Returns the folder of the nearest package.json, or else `folder` itself. */
export const projectOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const above = (at: string): Effect.Effect<string> =>
    Effect.flatMap(
      Effect.orElseSucceed(fs.exists(path.join(at, "package.json")), () => false),
      (found) => {
        if (found) return Effect.succeed(at)
        const parent = path.dirname(at)
        return parent === at ? Effect.succeed(folder) : above(parent)
      }
    )
  return yield* above(folder)
})

/** Streams changed paths, relative to `from`. Changes without a pause of 100 milliseconds between them arrive together. */
export const changes = Effect.fnUntraced(function* (
  watched: ReadonlyArray<string>,
  from: string
): Effect.fn.Return<Stream.Stream<ReadonlyArray<string>>, WatchError, Path.Path | Scope.Scope> {
  const path = yield* Path.Path
  const events = yield* Queue.sliding<void>(1)
  const changed = new Set<string>()
  const ready = Deferred.makeUnsafe<void, WatchError>()
  const chokidar = yield* Effect.promise(() => import("chokidar"))
  const passedOver = (file: string): boolean => {
    const root = watched.find((root) => file === root || file.startsWith(root + path.sep))
    return root !== undefined && file !== root && isIgnored(path.relative(root, file).split(path.sep))
  }
  const watcher = yield* Effect.acquireRelease(
    Effect.sync(() => chokidar.watch([...watched], { ignored: passedOver, ignoreInitial: true })),
    (watcher) => Effect.promise(() => watcher.close())
  )
  watcher.on("all", (_event, file) => {
    changed.add(path.relative(from, file))
    Queue.offerUnsafe(events, undefined)
  })
  watcher.on("ready", () => void Deferred.doneUnsafe(ready, Effect.void))
  watcher.on("error", (cause) => {
    const message = `Cannot watch ${watched.join(", ")}: ${cause instanceof Error ? cause.message : String(cause)}`
    Deferred.doneUnsafe(ready, Effect.fail(new WatchError({ message })))
  })
  yield* Deferred.await(ready)
  return Stream.map(Stream.debounce(Stream.fromQueue(events), "100 millis"), () => {
    const all = [...changed]
    changed.clear()
    return all
  })
})
