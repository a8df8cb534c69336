import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"

describe("files of findings", () => {
  it("The files of findings have different names that stay in their folder, whatever the names of tools are", () => {
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
