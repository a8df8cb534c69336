import { assert, it } from "@effect/vitest"
import { heading } from "../../src/page/format.ts"

it("A list's heading is its name in words", () => {
  assert.deepStrictEqual(["tools", "resourceTemplates"].map(heading), ["Tools", "Resource templates"])
})
