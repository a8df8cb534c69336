/** A workspace on a real disk, with links and neighbours that no request may reach. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Arbitrary, Effect, FileSystem, Path, Schema } from "effect"
import * as Names from "@effect-mcp/server/folder/Names"
import * as Paths from "@effect-mcp/examples/workspace/Paths"
import { maxBytes, Workspace, type WorkspaceError } from "@effect-mcp/examples/workspace/Workspace"

const secret = "SECRET"

/** `outside/secret.txt` next to `folder/`, which contains several links to the outside. */
const disk = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const top = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "workspace-" }))
  const folder = path.join(top, "folder")
  const write = (file: string, content: string) =>
    Effect.andThen(
      fs.makeDirectory(path.dirname(path.join(top, file)), { recursive: true }),
      fs.writeFileString(path.join(top, file), content)
    )
  yield* write("outside/secret.txt", secret)
  yield* write("folder/a.txt", "a")
  yield* write("folder/b/c.txt", "c")
  yield* write("folder/.git/config", secret)
  yield* write("folder/node_modules/x/index.js", secret)
  yield* write("folder/empty", "")
  yield* write("folder/large", "x".repeat(maxBytes + 1))
  yield* fs.symlink(path.join(top, "outside"), path.join(folder, "link"))
  yield* fs.symlink(path.join(top, "outside", "secret.txt"), path.join(folder, "secret.txt"))
  yield* fs.symlink(path.join(folder, "a.txt"), path.join(folder, "alias.txt"))
  yield* fs.symlink("..", path.join(folder, "up"))
  return { fs, path, top, folder }
})

const inside: ReadonlyMap<string, string> = new Map([
  ["a.txt", "a"],
  ["b/c.txt", "c"],
  ["empty", ""]
])

const open = Effect.gen(function* () {
  const made = yield* disk
  const workspace = yield* Effect.provide(Workspace, Workspace.layer(made.folder))
  return { ...made, workspace }
})

/** Paths that an attacker might write: special words between special separators, and anything else. */
const words = ["..", ".", "", "a.txt", "b", "c.txt", "link", "secret.txt", "up", "outside", "folder", ".git", "config"]
const odd = ["%2e%2e", "..%2f", "~", "C:", "\0", "alias.txt", "a.txt ", "A.TXT", "node_modules", "/etc/passwd"]
const Piece = Schema.Tuple([
  Schema.Union([Schema.Literals([...words, ...odd]), Schema.String]),
  Schema.Literals(["/", "\\", "//", ""])
])
const hostile = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Piece), { maxLength: 8 }), (pieces) =>
  pieces.map((piece) => piece.join("")).join("")
)
/** Paths to real files: most name a file, and many of the files are outside. */
const near = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.schema(Schema.Literals(["a.txt", "b", "c.txt", "link", "secret.txt", "up", "outside", "folder", ".."])),
    {
      maxLength: 4
    }
  ),
  (names) => names.join("/")
)

describe("Paths", () => {
  it.effect.prop("A path is rejected, or names one place below the folder in canonical form", [hostile], ([path]) =>
    Effect.sync(() => {
      const names = Paths.parse(path)
      if (names === undefined) return true
      const url = new URL(Names.toUri("file:///folder", path))
      return (
        names.join("/") === path &&
        names.every((name) => name !== ".." && name !== "." && !/[/\\:\0]/.test(name)) &&
        url.pathname.startsWith("/folder/") &&
        url.pathname.split("/").slice(2).map(decodeURIComponent).join("/") === path
      )
    })
  )

  it.effect.each(["a.txt", "b/c.txt", "src/deep/a b#c.ts", "…/é%20.md", ".env", "..a", "a..b"])(
    "A path can be %s",
    (path) => Effect.sync(() => assert.isDefined(Paths.parse(path)))
  )
})

layer(NodeServices.layer)("workspace on disk", (it) => {
  it.effect("A workspace lists only its own files, without links and ignored files", () =>
    Effect.gen(function* () {
      const { workspace } = yield* open
      assert.deepStrictEqual(yield* workspace.files, ["a.txt", "b/c.txt", "empty", "large"])
    })
  )

  it.effect("A workspace reads only its own files, and arbitrary paths never escape it", () =>
    Effect.gen(function* () {
      const { workspace } = yield* open
      for (const paths of [hostile, near]) {
        const checked = yield* Arbitrary.checkEffect(
          paths,
          (path) =>
            Effect.match(workspace.read(path), {
              onFailure: (error) => error.message.endsWith(path) && !inside.has(path),
              onSuccess: (bytes) => inside.get(path) === new TextDecoder().decode(bytes)
            }),
          { runs: 1500 }
        )
        assert.isUndefined(Arbitrary.formatCheckFailure(checked))
      }
    })
  )

  it.effect.each([
    "link/secret.txt",
    "secret.txt",
    "up/outside/secret.txt",
    "alias.txt",
    "up/folder/a.txt",
    "../outside/secret.txt",
    ".git/config",
    "node_modules/x/index.js",
    "b",
    "nope"
  ])("A workspace neither reads nor renames %s, without saying why", (path) =>
    Effect.gen(function* () {
      const { workspace } = yield* open
      for (const attempt of [workspace.read(path), workspace.check(path), workspace.rename(path, "new.txt")]) {
        const error = yield* Effect.flip<unknown, WorkspaceError, never>(attempt)
        assert.deepInclude(error, { reason: "Missing", path })
        assert.strictEqual(error.message, `Not in the workspace: ${path}`)
      }
    })
  )

  it.effect.each(["link/new.txt", "../new.txt", "up/new.txt", ".git/new", "nope/new.txt", "b/../../new.txt"])(
    "A workspace renames no file to %s",
    (to) =>
      Effect.gen(function* () {
        const { fs, path, top, workspace } = yield* open
        const error = yield* Effect.flip(workspace.rename("a.txt", to))
        assert.deepInclude(error, { reason: "Missing", path: to })
        assert.deepStrictEqual(yield* fs.readDirectory(path.join(top, "outside")), ["secret.txt"])
        assert.include(yield* workspace.files, "a.txt")
      })
  )

  it.effect("A workspace renames a file inside it, never over another file or a link", () =>
    Effect.gen(function* () {
      const { workspace } = yield* open
      yield* workspace.rename("a.txt", "b/a.txt")
      assert.deepStrictEqual(yield* workspace.files, ["b/a.txt", "b/c.txt", "empty", "large"])
      for (const to of ["b/c.txt", "secret.txt", "alias.txt"]) {
        assert.deepInclude(yield* Effect.flip(workspace.rename("b/a.txt", to)), { reason: "Taken", path: to })
      }
    })
  )

  it.effect("A workspace does not read a file larger than the message limit", () =>
    Effect.gen(function* () {
      const { workspace } = yield* open
      assert.deepInclude(yield* Effect.flip(workspace.read("large")), { reason: "TooLarge", path: "large" })
    })
  )

  it.effect.each([{ back: false }, { back: true }])(
    "A file whose folder becomes a link just before opening is rejected (and back again: $back)",
    ({ back }) =>
      Effect.gen(function* () {
        const { fs, path, top, folder } = yield* disk
        const swap = path.join(folder, "swap")
        yield* fs.makeDirectory(swap)
        yield* fs.writeFileString(path.join(swap, "secret.txt"), "mine")
        // The worst moments: between the check of the path and the opening of the file, and right after it.
        const away = Effect.andThen(
          fs.rename(swap, path.join(folder, "aside")),
          fs.symlink(path.join(top, "outside"), swap)
        )
        const home = Effect.andThen(fs.remove(swap), fs.rename(path.join(folder, "aside"), swap))
        const hooked = FileSystem.make({
          ...fs,
          open: (file, options) =>
            Effect.andThen(away, fs.open(file, options)).pipe(Effect.tap(() => (back ? home : Effect.void)))
        })
        const workspace = yield* Workspace.pipe(
          Effect.provide(Workspace.layer(folder)),
          Effect.provideService(FileSystem.FileSystem, hooked)
        )
        const error = yield* Effect.flip(workspace.read("swap/secret.txt"))
        assert.deepInclude(error, { reason: "Missing", path: "swap/secret.txt" })
      })
  )

  it.effect("A workspace knows which part of it a root covers", () =>
    Effect.gen(function* () {
      const { fs, path, top, folder, workspace } = yield* open
      yield* fs.symlink(folder, path.join(top, "other name"))
      const of = (place: string) =>
        Effect.flatMap(Effect.orDie(path.toFileUrl(place)), (url) => workspace.covered(url.href))
      assert.strictEqual(yield* of(folder), "")
      assert.strictEqual(yield* of(top), "")
      assert.strictEqual(yield* of("/"), "")
      assert.strictEqual(yield* of(path.join(top, "other name")), "")
      assert.strictEqual(yield* of(path.join(folder, "b")), "b")
      assert.strictEqual(yield* of(path.join(folder, "b", "c.txt")), "b/c.txt")
      assert.isUndefined(yield* of(path.join(top, "outside")))
      assert.isUndefined(yield* of(path.join(folder, "link")))
      assert.isUndefined(yield* of(path.join(top, "not there")))
      assert.isUndefined(yield* workspace.covered("https://example.com/folder"))
      assert.isUndefined(yield* workspace.covered("no URI"))
    })
  )
})
