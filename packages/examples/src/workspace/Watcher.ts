/** Changes in the workspace, watched once for all sessions and files. */
import {
  type FolderChange,
  type WatchedFolder,
  make
} from "@effect-mcp/server/folder/Changes"
import * as Tree from "@effect-mcp/server/folder/Tree"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as Paths from "./Paths.ts"

export type { FolderChange as Change }

export class Watcher extends Context.Service<Watcher, WatchedFolder>()(
  "@effect-mcp/examples/workspace/Watcher"
) {
  static readonly layer = (
    folder: string
  ): Layer.Layer<Watcher, PlatformError, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(Watcher, Effect.flatMap(Tree.make(folder, Paths.admits), make))

  /**
   * For tests. Emits the changes that are published to `hub`. `start` replaces
   * the start of the watcher.
   */
  static readonly layerTest = (
    hub: PubSub.PubSub<FolderChange>,
    start: Effect.Effect<void> = Effect.void
  ): Layer.Layer<Watcher> =>
    Layer.succeed(Watcher, { start, changes: Stream.fromPubSub(hub) })
}
