import { assert, describe, it } from "@effect/vitest"
import { prose, sectionOf, slug, summaryOf, titleOf } from "../src/Markdown.ts"

const document = `# A title

The first
paragraph.

## Part \`one\`

Text.

\`\`\`md
## No heading
\`\`\`

### Below

More.

## Part two

The end.
`

describe("Markdown documents", () => {
  it("A Markdown document has a title and a one-line summary", () => {
    assert.strictEqual(titleOf(document), "A title")
    assert.strictEqual(summaryOf(document), "The first paragraph.")
  })

  it("A Markdown document has sections with nested headings, and a top before the first one", () => {
    assert.strictEqual(sectionOf(document, "top"), "The first\nparagraph.")
    assert.strictEqual(sectionOf(document, "part-two"), "## Part two\n\nThe end.")
    const one = sectionOf(document, "part-one") ?? ""
    assert.match(one, /^## Part `one`\n/)
    assert.match(one, /## No heading[^]*### Below\n\nMore\.$/)
  })

  it("Headings inside fences and unknown headings have no section", () => {
    assert.isUndefined(sectionOf(document, "no-heading"))
    assert.isUndefined(sectionOf(document, "part-three"))
  })

  it("A Markdown document is changed only outside fences", () => {
    const changed = prose(document, (line) => line.replace("heading", "HEADING").replace("Text", "TEXT"))
    assert.include(changed, "## No heading")
    assert.include(changed, "TEXT.")
  })

  it("Heading ids match those on the site", () => {
    assert.strictEqual(slug("`... exited with code ...`"), "exited-with-code")
    assert.strictEqual(slug("Questions in 2026-07-28"), "questions-in-2026-07-28")
    assert.strictEqual(slug("Workers, Bun & Deno"), "workers-bun-deno")
  })
})
