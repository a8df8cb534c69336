import { NodeFileSystem } from "@effect/platform-node"
import { Audit } from "@effect-mcp/operate"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { run } from "../../support/run.ts"

const written = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = `${yield* files.makeTempDirectoryScoped()}/audit.jsonl`
  yield* Effect.gen(function* () {
    const { record } = yield* Audit.Audit
    for (const target of ["ada", "bob", "eve"]) yield* record({ event: "app.login", target })
  }).pipe(Effect.provide(Layer.provide(Audit.layer(), Audit.layerFile(path))))
  return { path, files, text: yield* files.readFileString(path) }
})

describe("audit verify", () => {
  it.live("audit verify reports an intact trail", () =>
    Effect.gen(function* () {
      const { path } = yield* written
      const { code, stdout } = yield* run(["audit", "verify", path])
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, /records\s+5/)
      assert.match(stdout, /ends\s+in order/)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("audit verify names the modified line and exits with code 1", () =>
    Effect.gen(function* () {
      const { files, path, text } = yield* written
      yield* files.writeFileString(path, text.replace('"bob"', '"eve"'))
      const { code, stdout } = yield* run(["audit", "verify", path, "--json"])
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(JSON.parse(stdout).problems, [{ line: 3, reason: "Record 3 was modified" }])
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("audit verify --closed fails for a truncated trail", () =>
    Effect.gen(function* () {
      const { files, path, text } = yield* written
      assert.strictEqual((yield* run(["audit", "verify", "--closed", path])).code, 0)
      yield* files.writeFileString(path, `${text.trimEnd().split("\n").slice(0, -1).join("\n")}\n`)
      const open = yield* run(["audit", "verify", path])
      assert.deepStrictEqual([open.code, open.stdout.includes("the end was cut off")], [0, true])
      assert.strictEqual((yield* run(["audit", "verify", "--closed", path])).code, 1)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("audit verify finds a truncation, and a missing file is a usage error", () =>
    Effect.gen(function* () {
      const { files, path, text } = yield* written
      yield* files.writeFileString(path, text.split("\n").toSpliced(1, 2).join("\n"))
      const cut = yield* run(["audit", "verify", path])
      assert.strictEqual(cut.code, 1)
      assert.include(cut.stdout, "records were removed or inserted")
      assert.strictEqual((yield* run(["audit", "verify", `${path}.missing`])).code, 2)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})
