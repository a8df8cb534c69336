/** `effect-mcp skills` checks a folder, and lists, shows and installs the reference server's skills. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { here, run } from "../../support/run.ts"

const uri = "skill://reference-tour/SKILL.md"

/** Creates a folder with these files, which is removed when the scope closes. */
const folderWith = (files: { readonly [path: string]: string } = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "cli-skills-")))
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        writeFileSync(join(folder, path), text)
      }
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

const markdown = (name: string) => `---\nname: ${name}\ndescription: About ${name}\n---\nText\n`

describe("effect-mcp skills", () => {
  it.live("skills check lists the skills of a folder and ends with 0", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({ "refunds/SKILL.md": markdown("refunds"), "refunds/a.md": "a" })
      const { code, stdout } = yield* run(["skills", "check", folder, "--prefix", "acme"])
      assert.strictEqual(code, 0)
      assert.match(stdout, /^skill:\/\/acme\/refunds\/SKILL\.md +2 files +\d+ bytes/)
      const json = yield* run(["skills", "check", folder, "--json"])
      assert.deepStrictEqual(JSON.parse(json.stdout), {
        skills: [{ uri: "skill://refunds/SKILL.md", files: 2, bytes: markdown("refunds").length + 1 }],
        problems: []
      })
    })
  )

  it.live("skills check names each problem and ends with 1", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({ "refunds/SKILL.md": markdown("returns"), "ok/SKILL.md": markdown("ok") })
      const { code, stdout } = yield* run(["skills", "check", folder])
      assert.strictEqual(code, 1)
      assert.include(stdout, "skill://ok/SKILL.md")
      assert.include(stdout, 'The name "returns" must be the last segment')
    })
  )

  it.live("skills check needs a folder that exists and has a skill", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({ "README.md": "None" })
      const empty = yield* run(["skills", "check", folder])
      assert.deepStrictEqual([empty.code, empty.stderr.includes("has no skills")], [2, true])
      const missing = yield* run(["skills", "check", join(folder, "missing")])
      assert.deepStrictEqual([missing.code, missing.stderr.includes("cannot be read")], [2, true])
    })
  )

  it.live("skills list shows each skill with its description", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(["skills", "list", ...here])
      assert.strictEqual(code, 0)
      assert.include(stdout, uri)
      assert.include(stdout, "Shows every feature of the reference server")
      const json = yield* run(["skills", "list", "--json", ...here])
      assert.deepStrictEqual(
        JSON.parse(json.stdout).skills.map((skill: any) => skill.uri),
        [uri, "skill://reference-tutorials/questions/SKILL.md"]
      )
    })
  )

  it.live("skills get prints SKILL.md or another file", () =>
    Effect.gen(function* () {
      const whole = yield* run(["skills", "get", uri, ...here])
      assert.match(whole.stdout, /^---\nname: "reference-tour"\n/)
      const file = yield* run(["skills", "get", uri, "--file", "references/limits.md", ...here])
      assert.strictEqual(file.stdout, "The tool slow runs until it is cancelled.\n")
      const folder = yield* folderWith()
      const target = join(folder, "pixel")
      yield* run(["skills", "get", uri, "--file", "assets/pixel.bin", "--output", target, ...here])
      assert.deepStrictEqual([...readFileSync(target)], [0, 1, 254, 255])
    })
  )

  it.live("skills get rejects a file missing from the manifest", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["skills", "get", uri, "--file", "../x", ...here])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.include(stderr, "not one of the files")
    })
  )

  it.live("skills install keeps every file only if the user approves", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith()
      const words = ["skills", "install", uri, "--as", "shop", "--to", folder]
      const refused = yield* run([...words, ...here])
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "--approve")
      assert.deepStrictEqual(readdirSync(folder), [])
      const { code, stdout } = yield* run([...words, "--approve", ...here])
      assert.deepStrictEqual([code, stdout], [0, `Kept 3 files in ${folder}\n`])
      assert.deepStrictEqual(readdirSync(folder), ["server-shop"])
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      assert.strictEqual(files.length, 4)
      for (const { name, parentPath } of files) assert.strictEqual(statSync(join(parentPath, name)).mode & 0o777, 0o600)
    })
  )
})
