import { assert, describe, it } from "@effect/vitest"
import { tokensOf } from "../../src/page/Markdown.tsx"

describe("Markdown", () => {
  it("A paragraph that would take the parser long stays plain text", () => {
    const [paragraph] = tokensOf("_a_".repeat(10_000)) ?? []
    assert.deepInclude(paragraph, { type: "paragraph" })
    assert.lengthOf(paragraph !== undefined && "tokens" in paragraph ? (paragraph.tokens ?? []) : [], 1)
  })

  it("A text that exhausts the parser has no tokens", () => {
    assert.isUndefined(tokensOf(">".repeat(50_000)))
  })
})
