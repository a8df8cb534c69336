import { assert, describe, it } from "@effect/vitest"
import { link, parse } from "../../src/page/route.ts"

describe("Addresses of views", () => {
  it("A link reads back as its view, item and arguments", () => {
    const args = { path: "a/b?c#d", deep: { list: [1, null] } }
    assert.deepStrictEqual(parse(link("tool", "odd/name?#%", args)), { view: "tool", item: "odd/name?#%", args })
    assert.deepStrictEqual(parse(link("run", 7)), { view: "run", item: "7", args: undefined })
  })

  it("A name with half of a surrogate pair has a link", () => {
    assert.strictEqual(parse(link("tool", "a\ud800")).item, "a\ufffd")
  })

  it("An address that can't be read is the overview, without arguments", () => {
    for (const hash of ["", "#", "#/nowhere/x", "#/%E0%A4%A"]) assert.strictEqual(parse(hash).view, "overview", hash)
    for (const args of ["%7B", "[1]", "7", ""]) assert.isUndefined(parse(`#/tool/x?args=${args}`).args, args)
  })
})
