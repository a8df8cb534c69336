/**
 * `Folder.layer`: a folder on disk as resources. No URI and no link leads outside, in any revision and for any feature.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Folder from "@effect-mcp/server/Folder"
import * as Tree from "@effect-mcp/server/folder/Tree"
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path } from "effect"
import { everyVersion, session } from "../support/raw.ts"
import { subscribe, until, updates } from "../support/subscribed.ts"

const secret = "SECRET"
const maxBytes = 1000

/** `outside/secret.txt` next to `folder/`, which contains several links to the outside. */
const disk = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const top = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "folder-" }))
  const folder = path.join(top, "folder")
  const write = (file: string, content: string | Uint8Array) =>
    Effect.andThen(
      fs.makeDirectory(path.dirname(path.join(top, file)), { recursive: true }),
      fs.writeFile(path.join(top, file), typeof content === "string" ? new TextEncoder().encode(content) : content)
    )
  yield* write("outside/secret.txt", secret)
  yield* write("folder/a.txt", "a")
  yield* write("folder/sub/deep/c d#.md", "# c")
  yield* write("folder/logo.png", new Uint8Array([0x89, 0, 1]))
  yield* write("folder/own.xyz", "x")
  yield* write("folder/empty", "")
  yield* write("folder/.env", secret)
  yield* write("folder/.git/config", secret)
  yield* write("folder/node_modules/x.js", secret)
  yield* write("folder/large.txt", "x".repeat(maxBytes + 1))
  yield* fs.symlink(path.join(top, "outside"), path.join(folder, "link"))
  yield* fs.symlink(path.join(top, "outside", "secret.txt"), path.join(folder, "secret.txt"))
  yield* fs.symlink(path.join(folder, "a.txt"), path.join(folder, "alias.txt"))
  yield* fs.symlink("..", path.join(folder, "up"))
  return { fs, path, top, folder, write: (file: string, content: string) => write(`folder/${file}`, content) }
})

const uri = "docs://files"
const features = (folder: string, options: Folder.Options = {}) =>
  Layer.provide(Folder.layer(folder, { uri, maxBytes, types: { xyz: "text/x-own" }, ...options }), NodeServices.layer)

/** For layers that fail before they register anything. */
const provideNothing = Effect.provideService(Resources.ResourceRegistry, {
  register: () => Effect.void,
  registerTemplate: () => Effect.void,
  mount: () => Effect.void,
  changed: Effect.void
})

/** Values that a hostile client appends to the folder's URI. */
const attacks: ReadonlyArray<string> = [
  "../outside/secret.txt",
  "..%2Foutside%2Fsecret.txt",
  "%2e%2e/outside/secret.txt",
  "%2E%2E%2Foutside%2Fsecret.txt",
  "sub/../../outside/secret.txt",
  "sub%2F..%2F..%2Foutside%2Fsecret.txt",
  "..\\outside\\secret.txt",
  "..%5Coutside%5Csecret.txt",
  "/etc/passwd",
  "%2Fetc%2Fpasswd",
  "C:%5Cwindows%5Cwin.ini",
  "a.txt%00",
  "a.txt%00.png",
  "a.txt.",
  "a.txt%20",
  "a.txt::$DATA",
  "./a.txt",
  "sub//deep",
  "sub/./deep/c%20d%23.md",
  "..",
  ".",
  "sub",
  "nope.txt",
  "link/secret.txt",
  "secret.txt",
  "alias.txt",
  "up/outside/secret.txt",
  "up/folder/a.txt",
  ".env",
  ".git/config",
  ".GIT/config",
  "node_modules/x.js",
  "NODE_MODULES/x.js",
  `${"a/".repeat(4000)}x`
]

layer(NodeServices.layer, { excludeTestServices: true })("a folder", (it) => {
  for (const version of everyVersion()) {
    it.effect(`A folder lists, completes and reads its files as text or bytes in ${version}`, () =>
      Effect.gen(function* () {
        const { folder } = yield* disk
        const client = yield* session(features(folder), { version })
        const { resources } = yield* client.request("resources/list")
        assert.deepStrictEqual(
          resources.map((one: any) => [one.name, one.uri, one.mimeType]),
          [
            ["a.txt", `${uri}/a.txt`, "text/plain"],
            ["empty", `${uri}/empty`, undefined],
            ["large.txt", `${uri}/large.txt`, "text/plain"],
            ["logo.png", `${uri}/logo.png`, "image/png"],
            ["own.xyz", `${uri}/own.xyz`, "text/x-own"],
            ["sub/deep/c d#.md", `${uri}/sub/deep/c%20d%23.md`, "text/markdown"]
          ]
        )
        const read = (path: string) =>
          Effect.map(client.request("resources/read", { uri: `${uri}/${path}` }), ({ contents }) => contents)
        assert.deepStrictEqual(yield* read("sub/deep/c%20d%23.md"), [
          { uri: `${uri}/sub/deep/c%20d%23.md`, mimeType: "text/markdown", text: "# c" }
        ])
        assert.deepStrictEqual(yield* read("logo.png"), [
          { uri: `${uri}/logo.png`, mimeType: "image/png", blob: "iQAB" }
        ])
        assert.deepStrictEqual(yield* read("empty"), [{ uri: `${uri}/empty`, mimeType: "text/plain", text: "" }])
        const { completion } = yield* client.request("completion/complete", {
          ref: { type: "ref/resource", uri: `${uri}/{+path}` },
          argument: { name: "path", value: "C" }
        })
        assert.deepStrictEqual(completion.values, ["sub/deep/c d#.md"])
      })
    )

    it.effect(`A folder treats every attack in ${version} as a missing file`, () =>
      Effect.gen(function* () {
        const { folder } = yield* disk
        const client = yield* session(features(folder), { version })
        for (const attack of attacks) {
          const error = yield* client.refused("resources/read", { uri: `${uri}/${attack}` })
          assert.deepStrictEqual(
            [error.code, error.message],
            [version >= "2026-07-28" ? -32602 : -32002, `Resource not found: ${excerpt(`${uri}/${attack}`)}`]
          )
          const { completion } = yield* client.request("completion/complete", {
            ref: { type: "ref/resource", uri: `${uri}/{+path}` },
            argument: { name: "path", value: decodeURIComponent(attack) }
          })
          for (const value of completion.values)
            assert.match(value, /^(?:a\.txt|empty|large\.txt|logo\.png|own\.xyz|sub\/)/)
        }
        const tooLarge = yield* client.refused("resources/read", { uri: `${uri}/large.txt` })
        assert.strictEqual(tooLarge.code, McpError.LimitExceeded)
        assert.include(tooLarge.message, `larger than ${maxBytes} bytes`)
        assert.notInclude(JSON.stringify(client.received), secret)
        // The platform's error contains the real path, which must not reach the client.
        assert.notInclude(JSON.stringify(client.received), folder)
      })
    )

    it.effect(`A folder in ${version} announces changed and new files`, () =>
      Effect.gen(function* () {
        const { folder, write } = yield* disk
        const client = yield* session(features(folder), { version })
        assert.isDefined(yield* subscribe(client, version, `${uri}/a.txt`))
        // The first update shows that the watch has started.
        yield* until(() => updates(client).length > 0)
        const before = updates(client).length
        yield* write("new.txt", "new")
        yield* write("a.txt", "b")
        yield* until(() => updates(client).length > before)
        assert.deepStrictEqual(new Set(updates(client)), new Set([`${uri}/a.txt`]))
        if (version < "2026-07-28") yield* until(() => client.notes("notifications/resources/list_changed").length > 0)
        const { resources } = yield* client.request("resources/list")
        assert.include(
          resources.map((one: any) => one.name),
          "new.txt"
        )
      })
    )
  }

  it.effect("A folder lists hidden files only on request, up to its file limit", () =>
    Effect.gen(function* () {
      const { folder } = yield* disk
      const open = yield* session(features(folder, { hidden: true, ignored: [] }))
      const names = (client: typeof open) =>
        Effect.map(client.request("resources/list"), ({ resources }) => resources.map((one: any) => one.name))
      assert.includeMembers(yield* names(open), [".env", ".git/config", "node_modules/x.js"])
      const few = yield* session(features(folder, { maxFiles: 2 }))
      assert.strictEqual((yield* names(few)).length, 2)
      yield* few.request("resources/read", { uri: `${uri}/own.xyz` })
    })
  )

  it.effect("A folder is served at its file URL, and a missing folder fails immediately", () =>
    Effect.gen(function* () {
      const { folder, path } = yield* disk
      const client = yield* session(features(folder, { uri: undefined }))
      const { href } = yield* Effect.orDie(path.toFileUrl(folder))
      assert.strictEqual((yield* client.request("resources/read", { uri: `${href}/a.txt` })).contents[0].text, "a")
      const error = yield* Effect.flip(Layer.build(features(path.join(folder, "nope"))).pipe(provideNothing))
      assert.strictEqual(error._tag, "PlatformError")
    })
  )

  for (const descriptors of [true, false]) {
    it.effect(
      `A folder swapped for a link exposes nothing outside it ${descriptors ? "with file descriptors" : "without file descriptors"}`,
      () =>
        Effect.gen(function* () {
          const { folder, fs, path, top } = yield* disk
          const swap = path.join(folder, "swap")
          yield* fs.makeDirectory(swap)
          yield* fs.writeFileString(path.join(swap, "secret.txt"), "mine")
          yield* fs.writeFileString(path.join(top, "outside", "other.txt"), secret)
          const aside = path.join(folder, "aside")
          const away = Effect.andThen(fs.rename(swap, aside), fs.symlink(path.join(top, "outside"), swap))
          const home = Effect.andThen(fs.remove(swap), fs.rename(aside, swap))
          /** Swaps the folder at every point between two file system calls, in both directions. */
          let calls = 0
          let [leaves, returns] = [-1, -1]
          let isAway = false
          const moment = Effect.suspend(() => {
            const now = calls++
            if (now === leaves && !isAway) return Effect.tap(away, () => Effect.sync(() => (isAway = true)))
            if (now === returns && isAway) return Effect.tap(home, () => Effect.sync(() => (isAway = false)))
            return Effect.void
          }).pipe(Effect.orDie)
          const hooked = FileSystem.make({
            ...fs,
            realPath: (place) => Effect.andThen(moment, fs.realPath(place)),
            lstat: (place) => Effect.andThen(moment, fs.lstat(place)),
            open: (place, options) => Effect.andThen(moment, fs.open(place, options)),
            readDirectoryEntries: (place) => Effect.andThen(moment, fs.readDirectoryEntries(place)),
            readLink: (place) => (descriptors ? fs.readLink(place) : fs.readLink(`${place}/nothing`))
          })
          const tree = yield* Effect.provideService(
            Tree.make(folder, () => true),
            FileSystem.FileSystem,
            hooked
          )
          let most = 0
          for (leaves = 0; leaves <= 8; leaves++) {
            for (returns = leaves + 1; returns <= 9; returns++) {
              calls = 0
              const bytes = yield* Effect.orElseSucceed(tree.read(["swap", "secret.txt"], 100), () => new Uint8Array())
              assert.include(["", "mine"], new TextDecoder().decode(bytes), `${leaves} ${returns}`)
              most = Math.max(most, calls)
              if (isAway) yield* home
              isAway = false
              // Without descriptors outside names may be listed, but their files are still never read.
              if (!descriptors) continue
              calls = 0
              const { files } = yield* tree.entries(["swap"])
              assert.include(
                ["", "swap/secret.txt"],
                files.map((names) => names.join("/")).join(),
                `${leaves} ${returns}`
              )
              if (isAway) yield* home
              isAway = false
            }
          }
          assert.isAtLeast(most, 4)
        })
    )
  }
})
