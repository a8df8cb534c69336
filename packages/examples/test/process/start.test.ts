/** The demonstration of `npm start`, run unchanged on a separate folder. */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../src/start.ts", import.meta.url))

const run = Effect.fnUntraced(function* (folder: string) {
  const child = yield* ChildProcess.make(process.execPath, [program, folder, "needle"], { stdin: "ignore" })
  const [output, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(child.all)), child.exitCode], {
    concurrency: 2
  })
  return { code, output }
})

layer(NodeServices.layer, { excludeTestServices: true })("demonstration", (it) => {
  it.effect("The demonstration shows every feature, exits with 0 and leaves the folder unchanged", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "start-" }))
      yield* fs.makeDirectory(path.join(folder, "a"))
      yield* fs.writeFileString(path.join(folder, "README.md"), "a needle\n")
      yield* fs.writeFileString(path.join(folder, "a", "b.txt"), "hay\n")
      const { code, output } = yield* run(folder)
      assert.strictEqual(Number(code), 0, output)
      for (const shown of [
        "search, summarize, rename",
        "review(path, focus?)",
        "2 files, listed page by page",
        "100 %  2/2 files",
        "1 matches in 2 files",
        "README.md:1  a needle",
        "(text/markdown, 9 characters)",
        'note.md is now "hello, world"',
        'summarize(note.md) = "A note that says hello."',
        'the server asks the user: "Rename note.md to greeting.md?" … yes',
        "note.md is greeting.md now: greeting.md"
      ]) {
        assert.include(output, shown)
      }
      assert.notInclude(output, "\u001b")
      assert.deepStrictEqual((yield* fs.readDirectory(folder, { recursive: true })).toSorted(), [
        "README.md",
        "a",
        path.join("a", "b.txt")
      ])
    })
  )

  it.effect("The demonstration reports a missing folder", () =>
    Effect.gen(function* () {
      const { code, output } = yield* run(fileURLToPath(new URL("no such folder", import.meta.url)))
      assert.strictEqual(Number(code), 1)
      assert.match(output.trim(), /^workspace +there is no folder .*no such folder$/)
    })
  )
})
