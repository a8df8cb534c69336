import { needs } from "@effect-mcp/spec/skip"
import { countsOf, linesOf } from "@effect-mcp/spec/SkipReporter"
import { assert, describe, it } from "@effect/vitest"

describe("Skipped test report", () => {
  it("The report has one line per reason with its number of skipped tests", () => {
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

  it("A test has a reason to be skipped only if it cannot run", () => {
    assert.deepStrictEqual(needs(false, "a terminal"), { skip: true, meta: { skipped: "a terminal" } })
    assert.deepStrictEqual(needs(true, "a terminal"), { skip: false, meta: {} })
  })
})
