/** The watcher on a real disk. Its events are awaited, however long the platform takes. */
import { NodeServices } from "@effect/platform-node"
import { type Change, Watcher } from "@effect-mcp/examples/workspace/Watcher"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Path, Queue, Stream } from "effect"

const watching = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "watcher-" })
  const place = (file: string) => path.join(folder, file)
  yield* fs.makeDirectory(place("sub/deep"), { recursive: true })
  yield* fs.makeDirectory(place("node_modules"))
  yield* fs.writeFileString(place("a.txt"), "a")
  const watcher = Context.get(yield* Layer.build(Watcher.layer(folder)), Watcher)
  const heard = yield* Queue.unbounded<Change>()
  yield* Effect.forkScoped(
    Stream.runForEach(watcher.changes, (change) => Queue.offer(heard, change)),
    {
      startImmediately: true
    }
  )
  /** Takes changes until one for that path arrives. */
  const next = (file: string) =>
    Effect.repeat(Queue.take(heard), { until: (change) => change.path === file }).pipe(Effect.timeout("60 seconds"))
  return { fs, heard, next, place, start: watcher.start }
})

layer(NodeServices.layer, { excludeTestServices: true })("watcher", (it) => {
  it.effect("The watcher reports changed, added and removed files in any folder", () =>
    Effect.gen(function* () {
      const { fs, next, place, start } = yield* watching
      yield* start
      yield* fs.writeFileString(place("a.txt"), "b")
      assert.isFalse((yield* next("a.txt")).listed)
      yield* fs.writeFileString(place("sub/deep/b.txt"), "b")
      assert.isTrue((yield* next("sub/deep/b.txt")).listed)
      yield* fs.remove(place("sub/deep/b.txt"))
      assert.isTrue((yield* next("sub/deep/b.txt")).listed)
    })
  )

  it.effect("The watcher reports and watches files in a new folder, even if it is recreated", () =>
    Effect.gen(function* () {
      const { fs, next, place, start } = yield* watching
      yield* start
      for (const content of ["once", "again"]) {
        yield* fs.makeDirectory(place("aside.tmp/x"), { recursive: true })
        yield* fs.writeFileString(place("aside.tmp/x/new.txt"), content)
        yield* fs.rename(place("aside.tmp"), place("fresh"))
        assert.isTrue((yield* next("fresh/x/new.txt")).listed)
        yield* fs.writeFileString(place("fresh/x/new.txt"), "more")
        assert.isFalse((yield* next("fresh/x/new.txt")).listed)
        yield* fs.remove(place("fresh"), { recursive: true })
        assert.isTrue((yield* next("fresh")).listed)
      }
    })
  )

  it.effect("The watcher ignores ignored files and is silent until started", () =>
    Effect.gen(function* () {
      const { fs, heard, next, place, start } = yield* watching
      yield* fs.writeFileString(place("early.txt"), "")
      yield* start
      yield* start
      yield* fs.writeFileString(place("node_modules/x.js"), "")
      yield* fs.writeFileString(place("late.txt"), "")
      const seen = [yield* next("late.txt"), ...(yield* Queue.clear(heard))]
      assert.notInclude(
        seen.map(({ path }) => path),
        "node_modules/x.js"
      )
    })
  )
})
