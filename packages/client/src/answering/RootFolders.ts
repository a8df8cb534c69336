/**
 * Offers folders on disk as roots (spec: client/roots, security considerations).
 *
 * Servers only see folders that can be read. If one disappears or comes back, servers are told that the roots have changed.
 */
import { Roots } from "@effect-mcp/core/Roots"
import type { Root } from "@effect-mcp/protocol/model/Root"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"

/** A folder, absolute or relative to the working directory. */
export interface RootFolder {
  readonly path: string
  /** Name to show in user interfaces. */
  readonly name?: string | undefined
}

export interface Options {
  /** How often to check whether the folders can be read. Default 5 seconds. */
  readonly every?: Duration.Input | undefined
  /** How long a folder may take to answer, for example on a network, before it counts as unreachable. Default 2 seconds. */
  readonly patience?: Duration.Input | undefined
}

interface Located {
  readonly absolute: string
  readonly root: Root
}

const isSame = (one: ReadonlyArray<Root>, other: ReadonlyArray<Root>): boolean =>
  one.length === other.length && one.every(({ uri }, at) => uri === other[at]?.uri)

/**
 * Provides a client's roots. The folders are checked before each answer, and regularly while a server is connected. They may be missing
 * at first.
 *
 * @example
 * ```ts
 * import { McpClient, RootFolders } from "@effect-mcp/client"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * const roots = RootFolders.layer(["src", { path: "/mnt/shared", name: "Shared" }])
 *
 * export const client = McpClient.layerStdio({ command: "my-server" }).pipe(
 *   Layer.provide(roots),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 */
export const layer = (
  folders: ReadonlyArray<RootFolder | string>,
  { every = "5 seconds", patience = "2 seconds" }: Options = {}
): Layer.Layer<Roots, never, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(
    Roots,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const located = yield* Effect.forEach(folders, (folder) => {
        const { name, path: given } = typeof folder === "string" ? { name: undefined, path: folder } : folder
        const absolute = path.resolve(given)
        return Effect.map(Effect.orDie(path.toFileUrl(absolute)), ({ href }): Located => ({
          absolute,
          root: { uri: href, ...(name === undefined ? undefined : { name }) }
        }))
      })
      const scope = yield* Effect.scope
      /** Pending checks, by folder. A check that hangs keeps a thread of the process busy, so there is never more than one per folder. */
      const running = new Map<string, Fiber.Fiber<boolean>>()
      const start = (absolute: string): Effect.Effect<Fiber.Fiber<boolean>> =>
        Effect.andThen(fs.access(absolute, { readable: true }), fs.stat(absolute)).pipe(
          Effect.map(({ type }) => type === "Directory"),
          Effect.orElseSucceed(() => false),
          Effect.ensuring(Effect.sync(() => running.delete(absolute))),
          Effect.forkIn(scope),
          Effect.tap((fiber) => Effect.sync(() => running.set(absolute, fiber)))
        )
      const isReachable = ({ absolute }: Located): Effect.Effect<boolean> =>
        Effect.suspend(() => {
          const fiber = running.get(absolute)
          return fiber === undefined ? start(absolute) : Effect.succeed(fiber)
        }).pipe(
          Effect.flatMap(Fiber.join),
          Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(false) })
        )
      const list = Effect.map(
        Effect.filter(located, isReachable, { concurrency: "unbounded" }),
        (reachable): ReadonlyArray<Root> => reachable.map(({ root }) => root)
      )
      const changes = Stream.tick(every).pipe(
        Stream.mapEffect(() => list),
        Stream.changesWith(isSame),
        Stream.drop(1),
        Stream.map(() => undefined)
      )
      return { list, changes }
    })
  )
