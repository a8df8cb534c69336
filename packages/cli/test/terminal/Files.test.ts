/** Files that the command writes: their modes, and links in their paths. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Files from "../../src/terminal/Files.ts"

const inFolder = <A, E>(
  use: (folder: string) => Effect.Effect<A, E, NodeServices.NodeServices>
): Effect.Effect<A, unknown> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.flatMap(fs.makeTempDirectoryScoped(), use)).pipe(
    Effect.scoped,
    Effect.provide(NodeServices.layer)
  )

const modeOf = (file: string): number => statSync(file).mode & 0o777

describe("Written files", () => {
  it.live("A new file is readable only by its owner, and an existing one keeps its mode", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const [fresh, old] = [join(folder, "fresh"), join(folder, "old")]
        writeFileSync(old, "a longer text from before", { mode: 0o640 })
        for (const file of [fresh, old]) yield* Files.write(file, "text")
        assert.deepStrictEqual([modeOf(fresh), modeOf(old)], [0o600, 0o640])
        assert.strictEqual(readFileSync(old, "utf8"), "text")
        assert.sameMembers(readdirSync(folder), ["fresh", "old"])
      })
    )
  )

  it.live("A user's link is followed, unless it leads out of a folder", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const inside = join(folder, "inside")
        mkdirSync(inside)
        const [target, link] = [join(folder, "target"), join(inside, "link")]
        writeFileSync(target, "before")
        symlinkSync(target, link)
        const refused = yield* Effect.flip(Files.write(link, "text", { folder: inside }))
        assert.match(refused.message, /is a link to .*target, outside of/)
        assert.strictEqual(readFileSync(target, "utf8"), "before")
        yield* Files.write(link, "text")
        assert.strictEqual(readFileSync(target, "utf8"), "text")
        assert.isTrue(lstatSync(link).isSymbolicLink())
      })
    )
  )

  it.live("`replace` replaces a link in place", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const [target, link] = [join(folder, "target"), join(folder, "link")]
        writeFileSync(target, "before")
        symlinkSync(target, link)
        yield* Files.replace(link, "text", 0o600)
        assert.deepStrictEqual([readFileSync(target, "utf8"), readFileSync(link, "utf8")], ["before", "text"])
      })
    )
  )

  it.live("A device is written in place", () => inFolder(() => Files.write("/dev/null", "text")))
})
