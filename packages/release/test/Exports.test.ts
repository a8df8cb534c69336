import { assert, describe, it } from "@effect/vitest"
import { exportsOf } from "@effect-mcp/release/Exports"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const manifest = {
  name: "a",
  version: "1.0.0",
  exports: { "./package.json": "./package.json", ".": "./src/index.ts", "./B": "./src/room/B.ts" }
}

describe("Exports of a published package", () => {
  it("Sources are exported as declarations and built files, or linked ones if the build made them", () => {
    const directory = mkdtempSync(join(tmpdir(), "exports-"))
    try {
      const linked = join(directory, "dist/linked/room/B.js")
      mkdirSync(dirname(linked), { recursive: true })
      writeFileSync(linked, "")
      assert.deepStrictEqual(exportsOf(directory, manifest), {
        "./package.json": "./package.json",
        ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
        "./B": { types: "./dist/room/B.d.ts", default: "./dist/linked/room/B.js" }
      })
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it("A program publishes no modules", () => {
    assert.deepStrictEqual(exportsOf("/nowhere", { ...manifest, bin: { a: "./dist/a.js" } }), {
      "./package.json": "./package.json"
    })
  })
})
