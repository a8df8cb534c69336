import { needs } from "@effect-mcp/spec/skip"
import { countsOf, linesOf } from "@effect-mcp/spec/SkipReporter"
import { assert, describe, it } from "@effect/vitest"

describe("report of skipped tests", () => {
  it("The report has a line per reason with the number of tests it skips", () => {
    assert.deepStrictEqual(linesOf(["needs a terminal", undefined, "needs a terminal"]), [
      "  needs a terminal: 2",
      "  no reason given: 1"
    ])
  })

  it("The report finds the counts that are larger at night", () => {
    assert.deepStrictEqual(countsOf("const a = scaled(1, 4)\nconst b = scaled(500, 10_000)"), [
      "1 of 4",
      "500 of 10_000"
    ])
    assert.isEmpty(countsOf("upscaled(1, 4)"))
  })

  it("A test has a reason to be skipped only where it cannot run", () => {
    assert.deepStrictEqual(needs(false, "a terminal"), { skip: true, meta: { skipped: "a terminal" } })
    assert.deepStrictEqual(needs(true, "a terminal"), { skip: false, meta: {} })
  })
})
