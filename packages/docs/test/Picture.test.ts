import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { sizeOf } from "../src/Picture.ts"
import { root } from "../src/Repository.ts"

describe("Picture", () => {
  it("Reads the size of a PNG file", () => {
    assert.deepStrictEqual(sizeOf(path.join(root, "packages/ui/docs/ui-light.png")), { width: 1440, height: 860 })
  })

  it("Reads the size of an SVG file", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "picture-"))
    const file = path.join(folder, "plot.svg")
    try {
      writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="0 0 734 174.5"></svg>')
      assert.deepStrictEqual(sizeOf(file), { width: 734, height: 174.5 })
      writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg"><svg viewBox="0 0 1 1"></svg></svg>')
      assert.isUndefined(sizeOf(file))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
