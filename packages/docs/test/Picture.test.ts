import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"
import { sizeOf } from "../src/Picture.ts"
import { root } from "../src/Repository.ts"

describe("Picture", () => {
  it("Reads the size of a PNG file", () => {
    assert.deepStrictEqual(sizeOf(path.join(root, "packages/ui/docs/ui-light.png")), { width: 1440, height: 860 })
  })

  it("Reads the size of an SVG file", () => {
    assert.deepStrictEqual(sizeOf(path.join(root, "packages/bench/plots/peers.svg")), { width: 734, height: 174 })
  })
})
