import { needs } from "@effect-mcp/spec/skip"
import { countsOf, linesOf } from "@effect-mcp/spec/SkipReporter"
import { assert, describe, it } from "@effect/vitest"

describe("report of skipped tests", () => {
  it("The report groups skipped tests by their reason, and says when there is none", () => {
    const file = "a.test.ts"
    assert.deepStrictEqual(
      linesOf([
        { title: "one", file, reason: "needs a terminal" },
        { title: "two", file, reason: undefined },
        { title: "three", file, reason: "needs a terminal" }
      ]),
      [
        "  needs a terminal: 2",
        "    a.test.ts: one",
        "    a.test.ts: three",
        "  no reason given: 1",
        "    a.test.ts: two"
      ]
    )
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
