import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"

describe("Finding files", () => {
  it("Finding files have distinct names within their folder, whatever the tool names", () => {
    const keys = [
      "answer-always ../../etc",
      "answer-always a.b",
      "answer-always a/b",
      "answer-always A-B",
      "x".repeat(500)
    ]
    assert.deepStrictEqual(Fuzz.Report.fileNames(keys.map((key) => ({ key }))), [
      "answer-always-etc.json",
      "answer-always-a-b.json",
      "answer-always-a-b-2.json",
      "answer-always-A-B-3.json",
      `${"x".repeat(80)}.json`
    ])
  })
})
