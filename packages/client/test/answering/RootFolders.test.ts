/** Folders on disk as roots: the ones that can be read, and announcements when that changes. */
import * as RootFolders from "@effect-mcp/client/RootFolders"
import * as Roots from "@effect-mcp/core/Roots"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FileSystem, Layer, Path } from "effect"
import { systemError } from "effect/PlatformError"
import { TestClock } from "effect/testing"
import { asker } from "../support/asking.ts"
import { all, versions } from "../support/connected.ts"

/** A disk with these folders. One with `slow` in its name never answers; one with `.txt` is a file. */
const disk = (folders: ReadonlySet<string>) =>
  Layer.merge(
    FileSystem.layerNoop({
      access: (path) =>
        path.includes("slow")
          ? Effect.never
          : folders.has(path)
            ? Effect.void
            : Effect.fail(
                systemError({ _tag: "NotFound", module: "FileSystem", method: "access", pathOrDescriptor: path })
              ),
      // The only field that is read.
      stat: (path) => Effect.succeed({ type: path.endsWith(".txt") ? "File" : "Directory" } as FileSystem.File.Info)
    }),
    Path.layer
  )

describe("RootFolders", () => {
  it.effect.each(all)(
    "A client exposes only folders that can be read (%s)",
    (version) =>
      Effect.gen(function* () {
        const folders = new Set(["/srv/a", "/srv/b c", "/srv/file.txt"])
        const layer = RootFolders.layer(["/srv/a", { path: "/srv/b c", name: "B" }, "/srv/gone", "/srv/file.txt"])
        yield* Effect.gen(function* () {
          const { ask } = yield* asker(version)
          assert.deepStrictEqual(yield* ask("roots/list"), {
            roots: [{ uri: "file:///srv/a" }, { uri: "file:///srv/b%20c", name: "B" }]
          })
          folders.delete("/srv/a")
          folders.add("/srv/gone")
          assert.deepStrictEqual(yield* ask("roots/list"), {
            roots: [{ uri: "file:///srv/b%20c", name: "B" }, { uri: "file:///srv/gone" }]
          })
        }).pipe(Effect.provide(Layer.provide(layer, disk(folders))))
      }),
    verifies("roots.client.accessibility-validated")
  )

  it.effect("A folder that does not respond counts as unreachable after the configured time", () =>
    Effect.gen(function* () {
      const listed = yield* Effect.forkChild(
        Effect.provide(Roots.list, Layer.provide(RootFolders.layer(["/slow", "/srv"]), disk(new Set(["/srv"])))),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(listed.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(listed), [{ uri: "file:///srv" }])
    })
  )

  it.effect("A folder that does not respond is not checked again until it does", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      let checks = 0
      const hanging = Layer.merge(
        FileSystem.layerNoop({
          access: () =>
            Effect.andThen(
              Effect.sync(() => void checks++),
              Deferred.await(answer)
            ),
          // The only field that is read.
          stat: () => Effect.succeed({ type: "Directory" } as FileSystem.File.Info)
        }),
        Path.layer
      )
      yield* Effect.gen(function* () {
        const list = Effect.gen(function* () {
          const listed = yield* Effect.forkChild(Roots.list, { startImmediately: true })
          yield* TestClock.adjust("2 seconds")
          return yield* Fiber.join(listed)
        })
        assert.deepStrictEqual([yield* list, yield* list, yield* list], [[], [], []])
        assert.strictEqual(checks, 1)
        yield* Deferred.succeed(answer, undefined)
        yield* quiesce
        assert.deepStrictEqual(yield* list, [{ uri: "file:///srv" }])
        assert.strictEqual(checks, 2)
      }).pipe(Effect.provide(Layer.provide(RootFolders.layer(["/srv"]), hanging)))
    })
  )

  it.effect.each(versions)(
    "A server is notified only when a folder disappears or reappears (%s)",
    (version) =>
      Effect.gen(function* () {
        const folders = new Set(["/srv/a"])
        const layer = RootFolders.layer(["/srv/a"], { every: "1 minute" })
        yield* Effect.gen(function* () {
          const { server } = yield* asker(version)
          const announced = () =>
            server.heard.filter(
              (message) => "method" in message && message.method === "notifications/roots/list_changed"
            ).length
          yield* quiesce
          const steps: ReadonlyArray<readonly [change: () => void, total: number]> = [
            [() => {}, 0],
            [() => folders.delete("/srv/a"), 1],
            [() => {}, 1],
            [() => folders.add("/srv/a"), 2]
          ]
          for (const [change, total] of steps) {
            change()
            yield* TestClock.adjust("1 minute")
            yield* quiesce
            assert.strictEqual(announced(), total)
          }
        }).pipe(Effect.provide(Layer.provide(layer, disk(folders))))
      }),
    verifies("roots.client.monitored")
  )
})
