/** Skills on a server: entries, files, directories and visibility, in every revision. */
import { McpError, Revision } from "@effect-mcp/protocol"
import type { Principal } from "@effect-mcp/core"
import { Skills, SkillsExtension } from "@effect-mcp/skills"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest } from "@effect-mcp/testing"
import type { McpClient } from "@effect-mcp/client"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Option, Queue, Stream } from "effect"
import { createHash } from "node:crypto"
import { folderWith, markdown } from "../support/disk.ts"

const { get, list, readDirectory } = SkillsExtension.requests

const pixel = new Uint8Array([0, 1, 254, 255])
const marked = "\ufeffA byte order mark\n"
const refunds: Skills.SkillDefinition = {
  name: "refunds",
  prefix: "acme/billing",
  description: 'Refunds "orders": all of them',
  instructions: "Read references/policy.md first.\n",
  files: { "references/policy.md": "30 days\n", "references/eu/a b#c.md": marked, "pixel.bin": pixel },
  license: "MIT",
  compatibility: "Needs the tool refund",
  metadata: { version: "1.10", "a: b": "yes" }
}
const root = "skill://acme/billing/refunds"
const features = Skills.layer([refunds, { name: "tour", description: "A tour", instructions: "Look around." }])

const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** Returns the bytes of a resource. */
const read = (client: McpClient.Client, uri: string) =>
  Effect.map(client.readResource(uri), ({ contents: [content] }) => {
    assert.strictEqual(content?.uri, uri)
    if (content === undefined) throw new Error("There is no content")
    return "text" in content ? Buffer.from(content.text) : Buffer.from(content.blob, "base64")
  })

const codeOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof McpError.McpError ? error.code : error))

describe.each(Revision.all)("Skills in $version", (revision) => {
  const connect = McpTest.connect(features, revision)

  it.effect(
    "Lists each skill with its frontmatter and the digest and size of every file",
    () =>
      Effect.gen(function* () {
        const client = yield* connect
        assert.deepStrictEqual(yield* client.serverSettings(SkillsExtension), Option.some({ directoryRead: true }))
        assert.isDefined(client.serverCapabilities.resources)
        const { skills } = yield* client.request(list, {})
        assert.deepStrictEqual(
          skills.map((skill: any) => skill.uri),
          [`${root}/SKILL.md`, "skill://tour/SKILL.md"]
        )
        const [skill]: ReadonlyArray<any> = skills
        assert.deepStrictEqual(skill.frontmatter, {
          name: "refunds",
          description: 'Refunds "orders": all of them',
          license: "MIT",
          compatibility: "Needs the tool refund",
          metadata: { version: "1.10", "a: b": "yes" }
        })
        assert.deepStrictEqual(
          skill.resources.map(({ uri }: any) => uri.slice(root.length + 1)),
          ["SKILL.md", "pixel.bin", "references/eu/a%20b%23c.md", "references/policy.md"]
        )
        for (const { digest, size, uri } of skill.resources) {
          const bytes = yield* read(client, uri)
          assert.deepStrictEqual({ digest, size }, { digest: digestOf(bytes), size: bytes.length })
        }
      }),
    verifies(
      "skills.capability.methods",
      "skills.capability.resources",
      "skills.entry.complete",
      "skills.entry.digest",
      "skills.entry.frontmatter",
      "skills.entry.size",
      "skills.files.readable",
      "skills.uri.scheme"
    )
  )

  it.effect("Keeps every byte of text and binary files", () =>
    Effect.gen(function* () {
      const client = yield* connect
      assert.deepStrictEqual(yield* read(client, `${root}/pixel.bin`), Buffer.from(pixel))
      assert.deepStrictEqual(yield* read(client, `${root}/references/eu/a%20b%23c.md`), Buffer.from(marked))
      const { contents } = yield* client.readResource(`${root}/SKILL.md`)
      assert.strictEqual(contents[0]?.mimeType, "text/markdown")
    })
  )

  it.effect(
    "Returns a single skill, and -32602 for a URI that is not a skill",
    () =>
      Effect.gen(function* () {
        const client = yield* connect
        const { skills } = yield* client.request(list, {})
        const uri = `${root}/SKILL.md`
        const { skill } = yield* client.request(get, { uri })
        assert.deepStrictEqual(skill, skills[0])
        for (const uri of ["skill://other/SKILL.md", root, `${root}/pixel.bin`, `${root}//SKILL.md`, "", "x"]) {
          assert.strictEqual(yield* codeOf(client.request(get, { uri })), McpError.InvalidParams, uri)
        }
      }),
    verifies("skills.get.entry", "skills.get.unknown")
  )

  it.effect(
    "Lists the direct children of every directory",
    () =>
      Effect.gen(function* () {
        const client = yield* connect
        const children = (uri: string) =>
          Effect.map(client.request(readDirectory, { uri }), ({ resources }) =>
            resources.map(({ mimeType, name, uri }) => [name, uri, mimeType])
          )
        assert.deepStrictEqual(yield* children(root), [
          ["refunds", `${root}/SKILL.md`, "text/markdown"],
          ["pixel.bin", `${root}/pixel.bin`, undefined],
          ["references", `${root}/references`, "inode/directory"]
        ])
        assert.deepStrictEqual(yield* children(`${root}/references`), [
          ["eu", `${root}/references/eu`, "inode/directory"],
          ["policy.md", `${root}/references/policy.md`, "text/markdown"]
        ])
        assert.deepStrictEqual(yield* children("skill://acme"), [
          ["billing", "skill://acme/billing", "inode/directory"]
        ])
        for (const uri of [`${root}/SKILL.md`, `${root}/nothing`, `${root}/`, "skill:/", "skill://", "skill:", ""]) {
          assert.strictEqual(yield* codeOf(client.request(readDirectory, { uri })), McpError.InvalidParams, uri)
        }
      }),
    verifies("skills.capability.directory", "skills.directory.children", "skills.directory.invalid")
  )

  it.effect(
    "Lists each SKILL.md as a resource, and no file outside a skill",
    () =>
      Effect.gen(function* () {
        const client = yield* connect
        const resources = yield* Stream.runCollect(client.listResources)
        assert.deepStrictEqual(
          Array.from(resources, ({ description, mimeType, name, uri }) => [uri, name, description, mimeType]),
          [
            [`${root}/SKILL.md`, "refunds", 'Refunds "orders": all of them', "text/markdown"],
            ["skill://tour/SKILL.md", "tour", "A tour", "text/markdown"]
          ]
        )
        for (const uri of [root, `${root}/x`, `${root}/../refunds/SKILL.md`, `${root}/%53KILL.md`, "skill://tour"]) {
          assert.strictEqual(yield* codeOf(client.readResource(uri)), revision.rules.resourceNotFound, uri)
        }
      }),
    verifies("skills.files.described", "skills.files.type", "skills.files.unknown")
  )

  it.effect(
    "Sends caching hints only in revisions that define them",
    () =>
      Effect.gen(function* () {
        const cache = { timeToLive: "5 minutes", scope: "public" } as const
        const client = yield* McpTest.connect(Skills.layer([refunds], { cache }), revision)
        const hint = revision.era === "stateless" ? { ttlMs: 300_000, cacheScope: "public" } : {}
        const { skills: _, ...ofList } = yield* client.request(list, {})
        const { skill: __, ...ofGet } = yield* client.request(get, { uri: `${root}/SKILL.md` })
        const { _meta, contents: ___, ...ofRead } = yield* client.readResource(`${root}/SKILL.md`)
        assert.deepStrictEqual([ofList, ofGet, ofRead], [hint, hint, hint])
      }),
    verifies("skills.list.cache", "skills.get.cache")
  )

  it.effect("Hides a skill and its files from callers who may not see it", () =>
    Effect.gen(function* () {
      const visible = ({ scopes }: Principal.Principal["Service"]) => scopes.includes("billing")
      const cache = { timeToLive: "5 minutes", scope: "public" } as const
      const own = Layer.merge(
        Skills.layer([refunds], { visible, cache }),
        Skills.layer([{ name: "tour", description: "A tour", instructions: "Look around." }], { cache })
      )
      const listed = Effect.fnUntraced(function* (scopes: ReadonlyArray<string>) {
        const client = yield* McpTest.connect(own, revision, {
          principal: { subject: "ada", scopes, claims: {} }
        })
        const { cacheScope, skills } = yield* client.request(list, {})
        if (revision.era === "stateless") assert.strictEqual(cacheScope, "private")
        const resources = yield* Stream.runCollect(client.listResources)
        const found = yield* Effect.all([
          Effect.isSuccess(client.request(get, { uri: `${root}/SKILL.md` })),
          Effect.isSuccess(client.readResource(`${root}/pixel.bin`)),
          Effect.isSuccess(client.request(readDirectory, { uri: "skill://acme" }))
        ])
        return [skills.length, resources.length, ...found]
      })
      assert.deepStrictEqual(yield* listed(["billing"]), [2, 2, true, true, true])
      assert.deepStrictEqual(yield* listed([]), [1, 1, false, false, false])
    })
  )

  it.effect("Shows nothing if visible returns a promise", () =>
    Effect.gen(function* () {
      const visible: any = () => Promise.resolve(false)
      const client = yield* McpTest.connect(Skills.layer([refunds], { visible }), revision)
      const codes = [
        yield* codeOf(client.request(list, {})),
        yield* codeOf(client.request(get, { uri: `${root}/SKILL.md` })),
        yield* codeOf(client.readResource(`${root}/pixel.bin`))
      ]
      assert.deepStrictEqual(new Set(codes), new Set([McpError.InternalError]))
    })
  )

  it.effect(
    "Lists many skills in pages, each skill once",
    () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 230 }, (_, index) => ({
          name: `skill-${index}`,
          description: "One of many",
          instructions: "Do it."
        }))
        const client = yield* McpTest.connect(Skills.layer(many), revision)
        const seen: Array<string> = []
        let pages = 0
        for (let cursor: string | undefined, more = true; more; pages++) {
          const page = yield* client.request(list, cursor === undefined ? {} : { cursor })
          for (const skill of page.skills) seen.push((skill as { readonly uri: string }).uri)
          cursor = page.nextCursor
          more = cursor !== undefined
        }
        assert.strictEqual(pages, 3)
        assert.strictEqual(new Set(seen).size, 230)
        assert.strictEqual(seen.length, 230)
      }),
    verifies("skills.list.pages")
  )
})

const reasons = (error: unknown) =>
  error instanceof Skills.InvalidSkills ? error.problems.map(({ place, rule }) => `${place} ${rule}`) : [String(error)]

const failure = <R>(features: Layer.Layer<never, unknown, R>) =>
  Effect.map(Effect.flip(McpTest.connect(features, "2026-07-28")), reasons)

describe("Skills in code", () => {
  const tour = { name: "tour", description: "A tour", instructions: "Look around." }
  const cases: ReadonlyArray<readonly [string, Skills.SkillDefinition, string]> = [
    ["a name with an upper case letter", { ...tour, name: "Tour" }, "Tour name"],
    ["a name of 65 letters", { ...tour, name: "a".repeat(65) }, `${"a".repeat(65)} name`],
    ["a name with two hyphens", { ...tour, name: "a--b" }, "a--b name"],
    ["an empty description", { ...tour, description: "" }, "tour description"],
    ["a description of 1025 letters", { ...tour, description: "d".repeat(1025) }, "tour description"],
    ["a compatibility of 501 letters", { ...tour, compatibility: "c".repeat(501) }, "tour frontmatter"],
    ["a file that climbs", { ...tour, files: { "../x": "" } }, "tour path"],
    ["a file name that is not Unicode", { ...tour, files: { "\ud800": "" } }, "tour path"],
    ["a file with a backslash", { ...tour, files: { "a\\b": "" } }, "tour path"],
    ["another SKILL.md", { ...tour, files: { "SKILL.md": "" } }, "tour clash"],
    ["two files that differ in case", { ...tour, files: { "a.md": "", "A.md": "" } }, "tour clash"],
    ["a file that is also a folder", { ...tour, files: { a: "", "A/b": "" } }, "tour clash"],
    [
      "513 files",
      { ...tour, files: Object.fromEntries(Array.from({ length: 512 }, (_, i) => [`f${i}`, ""])) },
      "tour files"
    ],
    ["more than 16 MiB", { ...tour, files: { a: new Uint8Array(16 * 1024 * 1024) } }, "tour bytes"]
  ]
  it.effect.each(cases)(
    "A skill with %s is a typed failure",
    ([, skill, reason]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* failure(Skills.layer([skill])), [reason])
      }),
    verifies("skills.entry.name", "skills.entry.naming", "skills.entry.within", "skills.limits.server")
  )

  it.effect("Accepts 512 files", () =>
    Effect.gen(function* () {
      const files = Object.fromEntries(Array.from({ length: 511 }, (_, index) => [`f${index}`, ""]))
      const client = yield* McpTest.connect(Skills.layer([{ ...tour, files }]), "2026-07-28")
      const { skills }: any = yield* client.request(list, {})
      assert.strictEqual(skills[0].resources.length, 512)
    })
  )

  it.effect("Two skills at one address are a typed failure, in one layer or in two", () =>
    Effect.gen(function* () {
      const clash = ["skill://tour/SKILL.md clash"]
      assert.deepStrictEqual(yield* failure(Skills.layer([tour, tour])), clash)
      assert.deepStrictEqual(yield* failure(Layer.merge(Skills.layer([tour]), Skills.layer([{ ...tour }]))), clash)
    })
  )

  it.effect("Two servers in one program do not share their skills", () =>
    Effect.gen(function* () {
      const own = Skills.layer([tour])
      const [one, other] = [yield* McpTest.connect(own, "2026-07-28"), yield* McpTest.connect(own, "2026-07-28")]
      for (const client of [one, other]) assert.strictEqual((yield* client.request(list, {})).skills.length, 1)
    })
  )
})

layer(NodeServices.layer, { excludeTestServices: true })("A folder of skills", (it) => {
  const open = (root: string, options?: Skills.FolderOptions) =>
    McpTest.connect(Layer.provide(Skills.folder(root, options), NodeServices.layer), "2026-07-28")
  const listed = (client: McpClient.Client) =>
    Effect.map(client.request(list, {}), ({ skills }) =>
      skills.map((skill: any) => [skill.uri, ...skill.resources.map(({ uri }: any) => uri.split("/").at(-1))])
    )

  it.effect(
    "Serves nested skills as skills and as files of the outer skill",
    () =>
      Effect.gen(function* () {
        const { root } = yield* folderWith({
          "README.md": "Not a skill",
          "billing/refunds/SKILL.md": markdown("refunds"),
          "billing/refunds/.git/config": "secret",
          "billing/refunds/node_modules/x.js": "secret",
          "billing/refunds/parts/partial/SKILL.md": markdown("partial"),
          "billing/refunds/parts/partial/a.md": "a"
        })
        const client = yield* open(root, { prefix: "acme" })
        assert.deepStrictEqual(yield* listed(client), [
          ["skill://acme/billing/refunds/SKILL.md", "SKILL.md", "SKILL.md", "a.md"],
          ["skill://acme/billing/refunds/parts/partial/SKILL.md", "SKILL.md", "a.md"]
        ])
        assert.strictEqual(yield* codeOf(client.readResource("skill://acme/README.md")), McpError.InvalidParams)
        const secret = "skill://acme/billing/refunds/.git/config"
        assert.strictEqual(yield* codeOf(client.readResource(secret)), McpError.InvalidParams)
      }),
    verifies("skills.nested.listed")
  )

  it.effect("Serves a folder that is itself a skill", () =>
    Effect.gen(function* () {
      const { path, root } = yield* folderWith({ "tour/SKILL.md": markdown("tour"), "tour/a.md": "a" })
      const client = yield* open(path.join(root, "tour"))
      assert.deepStrictEqual(yield* listed(client), [["skill://tour/SKILL.md", "SKILL.md", "a.md"]])
    })
  )

  const invalid: ReadonlyArray<readonly [string, { readonly [path: string]: string | Uint8Array }, string]> = [
    ["no frontmatter", { "a/SKILL.md": "# A" }, "a frontmatter"],
    ["frontmatter that does not end", { "a/SKILL.md": "---\nname: a\n" }, "a frontmatter"],
    ["YAML with a mistake", { "a/SKILL.md": "---\nname: [a\n---\n" }, "a frontmatter"],
    ["an alias", { "a/SKILL.md": "---\nname: a\ndescription: d\nx: &x [1]\ny: *x\n---\n" }, "a frontmatter"],
    ["a number that is not JSON", { "a/SKILL.md": "---\nname: a\ndescription: d\nx: .inf\n---\n" }, "a frontmatter"],
    ["no description", { "a/SKILL.md": "---\nname: a\n---\n" }, "a frontmatter"],
    ["a SKILL.md that is not text", { "a/SKILL.md": new Uint8Array([255, 254]) }, "a frontmatter"],
    ["the name of another folder", { "a/SKILL.md": markdown("b") }, "a name"],
    [
      "metadata that is not text",
      { "a/SKILL.md": `---\nname: a\ndescription: d\nmetadata: 7\n---\n` },
      "a frontmatter"
    ],
    ["a file name that Windows forbids", { "a/SKILL.md": markdown("a"), "a/b:c": "" }, "a path"]
  ]
  it.effect.each(invalid)(
    "A folder with %s is a typed failure",
    ([, contents, reason]) =>
      Effect.gen(function* () {
        const { root } = yield* folderWith({ ...contents, "ok/SKILL.md": markdown("ok") })
        const features = Layer.provide(Skills.folder(root), NodeServices.layer)
        assert.deepStrictEqual(yield* failure(features), [reason])
      }),
    verifies("skills.entry.frontmatter-fields", "skills.entry.name")
  )

  it.effect(
    "A folder is a skill only if it has a file with exactly the name SKILL.md",
    () =>
      Effect.gen(function* () {
        const { root } = yield* folderWith({
          "ok/SKILL.md": markdown("ok"),
          "lower/skill.md": markdown("lower"),
          "notes/README.md": "Not a skill"
        })
        assert.deepStrictEqual(yield* listed(yield* open(root)), [["skill://ok/SKILL.md", "SKILL.md"]])
      }),
    verifies("skills.entry.skill-md")
  )

  it.effect("A link in a skill is a typed failure, and nothing behind it is read", () =>
    Effect.gen(function* () {
      const { fs, path, root } = yield* folderWith({ "a/SKILL.md": markdown("a"), "secret.txt": "secret" })
      yield* fs.symlink(path.join(root, "secret.txt"), path.join(root, "a", "link.txt"))
      yield* fs.symlink("..", path.join(root, "a", "up"))
      const features = Layer.provide(Skills.folder(root), NodeServices.layer)
      assert.deepStrictEqual((yield* failure(features)).toSorted(), ["a/link.txt file", "a/up file"])
    })
  )

  it.effect("Limits the total size of all skills", () =>
    Effect.gen(function* () {
      const { root } = yield* folderWith({ "a/SKILL.md": markdown("a"), "b/SKILL.md": markdown("b") })
      const maxBytes = markdown("a").length + 1
      const features = Layer.provide(Skills.folder(root, { maxBytes }), NodeServices.layer)
      assert.deepStrictEqual(yield* failure(features), ["b/SKILL.md bytes"])
    })
  )

  it.effect("A prefix that is not a path is a typed failure", () =>
    Effect.gen(function* () {
      const { root } = yield* folderWith({ "a/SKILL.md": markdown("a") })
      for (const prefix of ["/acme", "acme/", "..", "a//b", "a\\b"]) {
        assert.deepStrictEqual(yield* failure(Layer.provide(Skills.folder(root, { prefix }), NodeServices.layer)), [
          `${root} uri`
        ])
      }
    })
  )

  it.effect("Serves a changed file with its new digest, and the previous version while a skill is invalid", () =>
    Effect.gen(function* () {
      const { root, write } = yield* folderWith({ "a/SKILL.md": markdown("a"), "a/b.md": "one" })
      const warnings = yield* Queue.unbounded<string>()
      const logger = Logger.make(({ message }) => void Queue.offerUnsafe(warnings, String(message)))
      const client = yield* Effect.provide(open(root), Logger.layer([logger]))
      const uri = "skill://a/b.md"
      const text = Effect.map(read(client, uri), String)
      const changed = yield* Stream.toPull(client.watchResource(uri))
      yield* changed
      assert.strictEqual(yield* text, "one")

      yield* write("a/b.md", "two")
      yield* changed
      assert.strictEqual(yield* text, "two")
      const { skills }: any = yield* client.request(list, {})
      assert.strictEqual(skills[0].resources[1].digest, digestOf(Buffer.from("two")))

      yield* write("a/SKILL.md", "broken")
      assert.include(yield* Queue.take(warnings), "a: SKILL.md must begin with YAML")
      assert.strictEqual(String(yield* read(client, "skill://a/SKILL.md")), markdown("a"))

      yield* write("a/SKILL.md", markdown("a", "Mended"))
      yield* write("a/b.md", "three")
      yield* changed
      assert.strictEqual(yield* text, "three")
      const { skill }: any = yield* client.request(get, { uri: "skill://a/SKILL.md" })
      assert.strictEqual(skill.frontmatter.description, "Mended")
    })
  )
})
