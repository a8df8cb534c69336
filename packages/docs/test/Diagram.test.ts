import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { draw } from "../src/Diagram.ts"
import { docs } from "../src/Repository.ts"

const diagrams = globSync("pages/*.md", { cwd: docs })
  .toSorted()
  .flatMap((page) =>
    [...readFileSync(join(docs, page), "utf8").matchAll(/^```mermaid\n([^]*?)^```$/gm)].map(
      ([, source = ""], index) => ({
        place: `${page} ${index + 1}`,
        source
      })
    )
  )

const source = `flowchart TD
  accTitle: One & two
  accDescr: One leads to "two".
  one[One] --> two[Two]
`

describe("Diagrams", () => {
  it("Eras, supervision, stopping, leases, tasks and the gateway have diagrams", () => {
    const pages = new Set(diagrams.map(({ place }) => place.split(/[/.]/)[1]))
    const expected = ["asking", "deploying", "gateway", "long-work", "many-nodes", "progress", "tasks"]
    assert.includeMembers([...pages], expected)
  })

  it.each(diagrams)("The diagram $place fits the column and draws all its names", ({ source }) => {
    const svg = draw(source, "one")
    const [, width] = /<svg [^>]*width="([\d.]+)"/.exec(svg) ?? []
    assert.isAtMost(Number(width), 688)
    for (const [, name = ""] of source.matchAll(/(?:\[| as )([\w -]+)(?:\]|<br|$)/gm)) assert.include(svg, `>${name}<`)
  })

  it("A diagram has its texts as title and description, and contains no style", () => {
    const svg = draw(source, "one")
    assert.include(svg, '<title id="one-title">One &amp; two</title>')
    assert.include(svg, '<desc id="one-description">One leads to &quot;two&quot;.</desc>')
    assert.include(svg, 'aria-labelledby="one-title" aria-describedby="one-description"')
    assert.notMatch(svg, /<style|https?:(?!\/\/www\.w3\.org)|acc(?:Title|Descr)/)
  })

  it("A diagram without text for readers who cannot see it is rejected", () => {
    assert.throws(() => draw("flowchart TD\n  one --> two\n", "one"), /has no accTitle/)
    assert.throws(() => draw("flowchart TD\n  accTitle: One\n  one --> two\n", "one"), /has no accDescr/)
  })

  it("Ids and references to them are unique to each diagram of a page", () => {
    const ids = (id: string) => [...draw(source, id).matchAll(/ id="([^"]+)"/g)].map(([, own]) => own)
    assert.isAbove(ids("one").length, 2)
    assert.deepStrictEqual(new Set([...ids("one"), ...ids("two")]).size, ids("one").length * 2)
    for (const [, target] of draw(source, "one").matchAll(/url\(#([^)]+)\)/g)) assert.include(ids("one"), target)
  })

  it("The theme has every colour that the drawings use", () => {
    const style = readFileSync(join(docs, ".vitepress/theme/style.css"), "utf8")
    const used = new Set(diagrams.flatMap(({ source }) => draw(source, "one").match(/var\(--_[\w-]+/g) ?? []))
    assert.isAbove(used.size, 4)
    for (const name of used) assert.include(style, `  ${name.slice("var(".length)}: `)
  })
})
