/** A host's skills on disk: private files that are replaced atomically and verified on every read. */
import { SkillFiles, Skills, SkillStore } from "@effect-mcp/skills"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest } from "@effect-mcp/testing"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readdirSync, readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { folderWith } from "../support/disk.ts"

const uri = "skill://refunds/SKILL.md"
const own = Skills.layer([
  { name: "refunds", description: "Refunds", instructions: "# R\n", files: { "policy.md": "30 days" } }
])

const storeAt = (directory: string) =>
  SkillStore.layer({ consent: () => Effect.succeed(true) }).pipe(
    Layer.provide(SkillFiles.layerDisk({ directory })),
    Layer.provide(NodeServices.layer)
  )

/** Paths of all files and folders below a folder. */
const below = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true }).map(({ name, parentPath }) => join(parentPath, name))

layer(NodeServices.layer, { excludeTestServices: true })("Skills on disk", (it) => {
  /** Loads the skill with its file from a server. */
  const filled = Effect.fnUntraced(function* (server = "shop") {
    const { root } = yield* folderWith({})
    const directory = join(root, "cache")
    yield* Effect.gen(function* () {
      const client = yield* McpTest.connect(own, "2026-07-28")
      const skill = yield* (yield* SkillStore.SkillStore).connected(server, client).load(uri)
      yield* skill.read("policy.md")
    }).pipe(Effect.provide(storeAt(directory)))
    return directory
  })
  const offline = (directory: string, server = "shop") =>
    Effect.map(Effect.provide(SkillStore.SkillStore, storeAt(directory)), (store) => store.offline(server))

  it.effect("Another process loads the files offline", () =>
    Effect.gen(function* () {
      const skills = yield* offline(yield* filled())
      const { skills: listed } = yield* skills.list
      assert.deepStrictEqual(
        listed.map(({ label }) => label),
        ["shop/refunds"]
      )
      const skill = yield* skills.load(uri)
      assert.strictEqual((yield* skill.read("policy.md")).text, "30 days")
    })
  )

  it.effect("Only the owner can read the files, and no partial files are left", () =>
    Effect.gen(function* () {
      const directory = yield* filled()
      const paths = below(directory)
      assert.strictEqual(paths.length, 5)
      for (const path of [directory, ...paths]) {
        const info = statSync(path)
        assert.strictEqual(info.mode & 0o777, info.isDirectory() ? 0o700 : 0o600, path)
      }
      assert.deepStrictEqual(
        paths.filter((path) => path.endsWith(".new")),
        []
      )
    })
  )

  it.effect(
    "The path contains the server's label and never leaves the folder",
    () =>
      Effect.gen(function* () {
        const labels = ["shop", "Shop", "../shop", "/etc", "con", "a/b", "a%2fb", "", ".", "é"]
        const folders = labels.map(SkillFiles.folderOf)
        assert.strictEqual(new Set(folders.map((folder) => folder.toLowerCase())).size, labels.length)
        for (const [index, folder] of folders.entries()) {
          assert.match(folder, /^server-[a-z0-9_%-]*$/)
          assert.strictEqual(decodeURIComponent(folder.slice("server-".length)), labels[index])
        }
        const directory = yield* filled("../shop")
        assert.deepStrictEqual(readdirSync(directory), [SkillFiles.folderOf("../shop")])
        assert.strictEqual((yield* (yield* offline(directory, "../shop")).list).skills.length, 1)
      }),
    verifies("skills.host.identity")
  )

  const fileOf = (directory: string, content: string) => {
    const path = below(directory).find((path) => statSync(path).isFile() && readFileSync(path, "utf8") === content)
    if (path === undefined) throw new Error("The file is not stored")
    return path
  }
  const reasonOf = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.map(Effect.flip(effect), (error) => (error instanceof SkillStore.SkillRefused ? error.reason : error))

  it.effect(
    "A changed copy is fetched again instead of used",
    () =>
      Effect.gen(function* () {
        const directory = yield* filled()
        const path = fileOf(directory, "30 days")
        for (const change of [
          () => writeFileSync(path, "99 days"),
          () => {
            writeFileSync(join(directory, "evil"), "99 days and more")
            unlinkSync(path)
            symlinkSync(join(directory, "evil"), path)
          }
        ]) {
          change()
          const skill = yield* (yield* offline(directory)).load(uri)
          assert.strictEqual(yield* reasonOf(skill.read("policy.md")), "offline")
        }
        yield* Effect.gen(function* () {
          const client = yield* McpTest.connect(own, "2026-07-28")
          const skill = yield* (yield* SkillStore.SkillStore).connected("shop", client).load(uri)
          assert.strictEqual((yield* skill.read("policy.md")).text, "30 days")
        }).pipe(Effect.provide(storeAt(directory)))
        const again = yield* (yield* offline(directory)).load(uri)
        assert.strictEqual((yield* again.read("policy.md")).text, "30 days")
        assert.strictEqual(readFileSync(join(directory, "evil"), "utf8"), "99 days and more")
      }),
    verifies("skills.host.cache")
  )

  it.effect("An entry that is broken or belongs to another server is ignored", () =>
    Effect.gen(function* () {
      const directory = yield* filled()
      const path = below(directory).find((path) => path.endsWith("entry.json")) ?? ""
      const entry = JSON.parse(readFileSync(path, "utf8"))
      for (const text of [
        "{",
        "null",
        JSON.stringify({ ...entry, server: "other" }),
        JSON.stringify({ ...entry, uri: "skill://other/SKILL.md" }),
        JSON.stringify({ ...entry, skill: { ...entry.skill, resources: [] } })
      ]) {
        writeFileSync(path, text)
        const skills = yield* offline(directory)
        assert.deepStrictEqual((yield* skills.list).skills, [], text)
        assert.strictEqual(yield* reasonOf(skills.load(uri)), "offline", text)
      }
    })
  )

  it.effect("Ignores files that other programs put into its folders", () =>
    Effect.gen(function* () {
      const directory = yield* filled()
      writeFileSync(join(directory, ".DS_Store"), "")
      writeFileSync(join(directory, "server-shop", ".DS_Store"), "")
      const { skills } = yield* (yield* offline(directory)).list
      assert.strictEqual(skills.length, 1)
    })
  )

  it.effect("Forgetting a server removes only its folder", () =>
    Effect.gen(function* () {
      const directory = yield* filled()
      const store = yield* Effect.provide(SkillStore.SkillStore, storeAt(directory))
      yield* store.forget("other")
      assert.deepStrictEqual(readdirSync(directory), ["server-shop"])
      yield* store.forget("shop")
      assert.deepStrictEqual(readdirSync(directory), [])
    })
  )
})
