/** The parts of the release that need no network; `npm run release -- --dry-run` runs the whole. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { problems } from "../../src/Manifests.ts"
import { prune, reach } from "../../src/Reachable.ts"
import * as Registry from "../../src/Registry.ts"
import { manifestOf, published, root } from "../../src/Workspace.ts"

const inFolder = (files: Readonly<Record<string, string>>, use: (directory: string) => void): void => {
  const directory = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-release-test-"))
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(directory, name)), { recursive: true })
      writeFileSync(path.join(directory, name), text)
    }
    use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("Package files", () => {
  const files = {
    "package.json": "{}",
    "README.md": "",
    "dist/index.js": `export * from "./a.js"\nexport const b = () => import(\`./b.js\`)\nconst c = new URL("./read.txt", import.meta.url)\n//# sourceMappingURL=index.js.map`,
    "dist/index.js.map": JSON.stringify({ sources: ["../src/index.ts"] }),
    "dist/a.js": "export const a = 1",
    "dist/b.js": "export const b = 1",
    "dist/read.txt": "",
    "dist/index.d.ts": `export type A = import("./a.ts").A\nexport type { C } from "./c.ts"`,
    "dist/a.d.ts": "export type A = 1",
    "dist/c.d.ts": "export type C = 1",
    "dist/unused.js": "export const u = 1",
    "dist/b.d.ts": "export declare const b: 1",
    "src/index.ts": `import "./elsewhere.ts"`,
    "src/unused.ts": ""
  }
  const manifest = { exports: { "./package.json": "./package.json", ".": "./dist/index.js" } }

  it("Only files reached by imports, types, source maps and sources are published", () =>
    inFolder(files, (directory) => {
      const unused = ["dist/b.d.ts", "dist/unused.js", "src/unused.ts"]
      assert.deepStrictEqual(reach(directory, manifest).unreachable, unused)
      assert.deepStrictEqual(reach(directory, manifest).missing, [])
      assert.strictEqual(prune(directory, manifest), unused.length)
      assert.deepStrictEqual(reach(directory, manifest).unreachable, [])
      assert.isTrue(reach(directory, manifest).reached.has("src/index.ts"))
    }))

  it("Missing files are reported along with the file that references them", () => {
    const { "dist/a.js": _, "src/index.ts": __, ...rest } = files
    inFolder(rest, (directory) => {
      const { missing } = reach(directory, { ...manifest, bin: { command: "./dist/bin.js" } })
      assert.deepStrictEqual(missing.toSorted(), [
        "dist/index.js -> dist/a.js",
        "dist/index.js.map -> src/index.ts",
        "package.json -> dist/bin.js"
      ])
    })
  })
})

describe("Published packages", () => {
  const packages = published()
  const workspace = manifestOf(root)

  it("A package is published after its dependencies", () => {
    const names = packages.map(({ manifest }) => manifest.name)
    assert.isAtLeast(names.length, 8)
    for (const [index, { manifest }] of packages.entries()) {
      const later = Object.keys(manifest.dependencies ?? {}).filter((name) => names.indexOf(name) > index)
      assert.deepStrictEqual(later, [], manifest.name)
    }
  })

  // pnpm replaces these when it packs: scripts, TypeScript exports and `workspace:` versions.
  const ofWorkspace = /^it ships scripts$|is TypeScript$|which no registry knows$|^there is no LICENSE$/

  it.each(packages.map(({ directory, manifest }) => [manifest.name, directory, manifest] as const))(
    "%s has a complete manifest and refuses to be packed on its own",
    (_, directory, manifest) => {
      const found = problems(directory, manifest, workspace).filter((problem) => !ofWorkspace.test(problem))
      assert.deepStrictEqual(found, [])
      assert.strictEqual(manifest.scripts?.["prepack"], "node ../../scripts/prepack.mjs")
    }
  )

  it("Packing a single package is refused, with the command that packs all", () => {
    const env = { ...process.env, npm_package_name: "@effect-mcp/core", EFFECT_MCP_RELEASE: undefined }
    const args = [path.join(root, "scripts/prepack.mjs")]
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" })
    assert.strictEqual(status, 1)
    assert.include(stderr, "@effect-mcp/core: this folder cannot be packed")
    assert.include(stderr, "npm run release -- --dry-run")
  })

  it("An incomplete manifest is rejected", () =>
    inFolder({ "CHANGELOG.md": "# a\n\n## 1.0.0\n" }, (directory) => {
      const manifest = { name: "a", version: "1.0.1", dependencies: { b: "workspace:*" }, exports: { ".": "./a.ts" } }
      const found = problems(directory, manifest, workspace)
      assert.includeMembers(found as Array<string>, [
        "it has no description",
        "there is no README.md",
        "CHANGELOG.md has no entry ## 1.0.1",
        `exports "." is TypeScript`,
        "b is workspace:*, which no registry knows"
      ])
    }))
})

describe("Local registry", () => {
  it("The registry returns what was published and rejects the same package twice", async () => {
    const registry = await Registry.open()
    try {
      const packument = JSON.stringify({
        name: "@scope/a",
        "dist-tags": { latest: "1.0.0" },
        versions: { "1.0.0": { name: "@scope/a", version: "1.0.0", dist: { tarball: "", integrity: "sha512-x" } } },
        _attachments: { "a-1.0.0.tgz": { data: Buffer.from("bytes").toString("base64") } }
      })
      const put = () => fetch(`${registry.url}@scope%2fa`, { method: "PUT", body: packument })
      assert.strictEqual((await put()).status, 201)
      assert.strictEqual((await put()).status, 409)
      assert.deepStrictEqual(registry.names(), ["@scope/a"])
      const found: any = await (await fetch(`${registry.url}@scope%2Fa`)).json()
      assert.strictEqual(found.versions["1.0.0"].dist.integrity, "sha512-x")
      assert.notProperty(found, "_attachments")
      assert.strictEqual(await (await fetch(found.versions["1.0.0"].dist.tarball)).text(), "bytes")
      assert.strictEqual((await fetch(`${registry.url}other`)).status, 404)
    } finally {
      await registry.close()
    }
  })
})

describe("Documents", () => {
  it("The workspace's documents name the command", () => {
    assert.include(readFileSync(path.join(root, "CONTRIBUTING.md"), "utf8"), "npm run release -- --dry-run")
  })
})
