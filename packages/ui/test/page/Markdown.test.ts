import { assert, describe, it } from "@effect/vitest"
import { Leave, tokensOf } from "../../src/page/Markdown.tsx"

describe("Markdown", () => {
  it("Only links to the web and to mail can be followed", () => {
    const tagOf = (href: string) => Leave({ href }).type
    assert.deepStrictEqual(["https://a.invalid/", "mailto:a@b.invalid"].map(tagOf), ["button", "button"])
    const others = [
      "javascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "/local",
      "https:",
      " javascript:1"
    ]
    assert.deepStrictEqual([...new Set(others.map(tagOf))], ["span"])
  })

  it("A paragraph that would take the parser long stays plain text", () => {
    const [paragraph] = tokensOf("_a_".repeat(10_000)) ?? []
    assert.deepInclude(paragraph, { type: "paragraph" })
    assert.lengthOf(paragraph !== undefined && "tokens" in paragraph ? (paragraph.tokens ?? []) : [], 1)
  })

  it("A text that exhausts the parser has no tokens", () => {
    assert.isUndefined(tokensOf(">".repeat(50_000)))
  })
})
