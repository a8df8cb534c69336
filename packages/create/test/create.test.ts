/** The command line of `npm create @effect-mcp`, and the files it writes. */
import { files, versions } from "@effect-mcp/create/files"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { create, createBy, manifestOf, temporary } from "./support/create.ts"

const workspace = resolve(import.meta.dirname, "../../..")

describe("npm create @effect-mcp", () => {
  it("The project uses this workspace's versions", () => {
    const { devDependencies } = manifestOf(resolve(import.meta.dirname, ".."))
    const { version } = manifestOf(join(workspace, "packages/server"))
    for (const promise of [true, false]) {
      const manifest = JSON.parse(files({ name: "x", http: false, promise })["package.json"] ?? "")
      for (const [name, wanted] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
        assert.strictEqual(wanted, name.startsWith("@effect-mcp/") ? version : devDependencies[name], name)
      }
    }
    assert.strictEqual(versions.own, version)
  })

  it.effect("An empty folder is filled, and the next steps are shown", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const { code, stderr, stdout } = create(folder, ".", "--name", "@me/greeter")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.include(stdout, "Created @me/greeter in .\n")
      assert.strictEqual(manifestOf(folder).name, "@me/greeter")
    })
  )

  it.effect("An outdated Node is reported", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const on = (version: string) =>
        createBy({ npm_config_user_agent: `npm/10.8.2 node/v${version} linux x64` }, folder, version)
      assert.match(on("20.20.2").stderr, /^\nThe project requires Node 22\.19 or newer, but this is Node 20\.20\.2\./)
      assert.include(on("22.18.0").stderr, "npm install --save-dev node@24")
      for (const version of ["22.19.0", "24.0.0"]) assert.strictEqual(on(version).stderr, "")
    })
  )

  it.effect("A non-empty folder is rejected and left unchanged", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      writeFileSync(join(folder, "mine.txt"), "mine")
      const { code, stderr, stdout } = create(folder, ".")
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.match(stderr, /^error: The folder \. is not empty. Choose another folder, or empty it first\n/)
      assert.isFalse(existsSync(join(folder, "package.json")))
    })
  )

  it.effect("Invalid command lines and names are rejected, and nothing is written", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      for (const [argv, reason] of [
        [[], /Expected one folder/],
        [["a", "b"], /Expected one folder/],
        [["a", "--htp"], /Unknown option '--htp'/],
        [["???"], /is not a valid package name/],
        [["a", "--name", "../x"], /"\.\.\/x" is not a valid package name/],
        [["a", "--name", 'x"y'], /is not a valid package name/]
      ] as const) {
        const { code, stderr, stdout } = create(folder, ...argv)
        assert.deepStrictEqual([code, stdout], [2, ""])
        assert.match(stderr, reason)
      }
      assert.isFalse(existsSync(join(folder, "a")))
      assert.match(create(folder, "--help").stdout, /--promise/)
      assert.strictEqual(create(folder, "My Server!").code, 0)
      assert.strictEqual(manifestOf(join(folder, "My Server!")).name, "my-server")
    })
  )
})
