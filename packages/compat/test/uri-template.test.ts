/** URI templates are read, expanded and matched as in the official SDK, except for values that climb and for invalid templates. */
import { UriTemplate } from "@effect-mcp/compat/v1/shared/uriTemplate.js"
import { UriTemplate as Official } from "@modelcontextprotocol/sdk/shared/uriTemplate.js"
import { assert, describe, it } from "@effect/vitest"

const rows = [
  { template: "notes://{id}", values: { id: "a b" }, uris: ["notes://a%20b", "notes://a/b", "memos://a"] },
  { template: "repo://{owner}/{name}", values: { owner: "o", name: "n" }, uris: ["repo://o/n", "repo://o"] },
  { template: "file:///{+path}", values: { path: "a/b.txt" }, uris: ["file:///a/b.txt"] },
  { template: "page{#part}", values: { part: "top" }, uris: ["other"] },
  { template: "a{/b}{/c}", values: { b: "1", c: "2" }, uris: ["a/1/2", "b/1/2"] },
  { template: "find{?q,page}", values: { q: "x y", page: "2" }, uris: ["find?q=x&page=2", "found?q=x&page=2"] },
  { template: "fixed://one", values: {}, uris: ["fixed://one", "fixed://two"] }
] as const

describe("UriTemplate", () => {
  it.each(rows)("Template $template has the same names, expansions and matches as in the SDK", (row) => {
    const [ours, theirs] = [new UriTemplate(row.template), new Official(row.template)]
    assert.strictEqual(ours.toString(), theirs.toString())
    assert.deepStrictEqual(ours.variableNames, theirs.variableNames)
    assert.strictEqual(ours.expand(row.values), theirs.expand(row.values))
    const decoded = (found: ReturnType<UriTemplate["match"]>) =>
      found &&
      Object.fromEntries(Object.entries(found).map(([name, value]) => [name, decodeURIComponent(String(value))]))
    for (const uri of row.uris) assert.deepStrictEqual(decoded(ours.match(uri)), decoded(theirs.match(uri)), uri)
  })

  it.each(["notes://{id}", "find{?q}", "fixed://one", "{}", "a {b c}"])(
    "%s is a template only if the SDK says so",
    (text) => {
      assert.strictEqual(UriTemplate.isTemplate(text), Official.isTemplate(text))
    }
  )

  it("A value that escapes its segment matches no template", () => {
    const [climbing, shorter] = ["notes://..%2Fsecret", "a"]
    assert.isNull(new UriTemplate("notes://{id}").match(climbing))
    assert.isNotNull(new Official("notes://{id}").match(climbing))
    assert.deepStrictEqual(new UriTemplate("a{/b}").match(shorter), {})
    assert.isNull(new Official("a{/b}").match(shorter))
  })

  it("An unclosed expression is an error", () => {
    assert.throws(() => new UriTemplate("notes://{id"))
    assert.throws(() => new Official("notes://{id"))
  })
})
