/** Loaders that turn these files into CommonJS: a copy of the module as such a loader compiles it. */
import type { lateImport } from "@effect-mcp/core/internal/calling"
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The module as CommonJS, with each import as it was written. */
const asCommonJs = (): typeof lateImport => {
  const source = readFileSync(new URL("../../src/internal/lateImport.ts", import.meta.url), "utf8")
  const code = stripTypeScriptTypes(source).replaceAll("export const ", "const ")
  const directory = mkdtempSync(join(tmpdir(), "effect-mcp-late-import-"))
  try {
    const file = join(directory, "lateImport.cjs")
    writeFileSync(file, `${code}\nexports.lateImport = lateImport\n`)
    return createRequire(import.meta.url)(file).lateImport
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** A function with this source text, because the test runner rewrites imports. */
const load = (text: string) => Object.assign(() => Promise.resolve(), { toString: () => `() => ${text}` })

describe("Late imports", () => {
  it("A late import in CommonJS fails with an error that explains what to do", () => {
    assert.throws(() => asCommonJs()(load(`import("./Part.js")`)), /Add "type": "module" to your package\.json/)
  })

  it("A CommonJS late import of another package is left unchanged", () => {
    const inCommonJs = asCommonJs()
    for (const other of [load(`Promise.resolve().then(() => require("./Part.js"))`), load(`import("effect/Effect")`)]) {
      assert.strictEqual(inCommonJs(other), other)
    }
  })
})
