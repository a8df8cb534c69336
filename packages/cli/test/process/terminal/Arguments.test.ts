import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { assemble, assembleText, coerce, parse, parseBase } from "@effect-mcp/cli/Arguments"

const ok = <A>(result: Result.Result<A, string>): A => Result.getOrThrowWith(result, (message) => new Error(message))
const why = <A>(result: Result.Result<A, string>): string =>
  Result.isFailure(result) ? result.failure : "it succeeded"
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })

describe("Arguments", () => {
  it("Text after the first = is a string, and text after := is JSON", () => {
    assert.deepStrictEqual(ok(parse("a=b=c")), { _tag: "Text", key: "a", value: "b=c" })
    assert.deepStrictEqual(ok(parse("a=")), { _tag: "Text", key: "a", value: "" })
    assert.deepStrictEqual(ok(parse(`a:=[1,"x"]`)), { _tag: "Json", key: "a", value: [1, "x"] })
    assert.deepStrictEqual(ok(parse("a=:=1")), { _tag: "Text", key: "a", value: ":=1" })
  })

  it("A word that is not an argument is rejected with the reason", () => {
    assert.strictEqual(why(parse("plain")), `"plain" is not an argument: write key=value, or key:=json`)
    assert.strictEqual(why(parse("=x")), `"=x" has no name before the "="`)
    assert.match(why(parse("a:={")), /^"a:=\{" has no JSON after ":=": /)
  })

  it.prop("key:=json sends any JSON value unchanged", [Schema.Json], ([value]) => {
    const words = [`k:=${JSON.stringify(value)}`]
    // Through JSON, because -0 has no text form.
    const expected = JSON.parse(JSON.stringify({ k: value }))
    assert.deepStrictEqual(ok(assemble(words, object({ k: { type: "boolean" } }))), expected)
  })

  it.prop("Any text is kept if the schema expects a string or does not say", [Schema.String], ([text]) => {
    assert.deepStrictEqual(ok(assemble([`k=${text}`], object({ k: { type: "string" } }))), { k: text })
    assert.deepStrictEqual(ok(assemble([`k=${text}`], {})), { k: text })
    assert.deepStrictEqual(ok(coerce(text, { type: ["integer", "string"] }, {})), text)
  })

  it.prop("Every printed number is parsed back unchanged", [Schema.Finite], ([number]) => {
    const expected = Object.is(number, -0) ? 0 : number
    assert.strictEqual(ok(coerce(String(number), { type: "number" }, {})), expected)
  })

  it.prop("Every safe integer stays an integer, and no fraction does", [Schema.Int], ([number]) => {
    assert.strictEqual(ok(coerce(String(number), { type: "integer" }, {})), number)
    assert.strictEqual(why(coerce(`${number}.5`, { type: "integer" }, {})), `"${number}.5" is not an integer`)
  })

  it("Text excluded by the schema is rejected, with a hint on how to send it anyway", () => {
    const schema = object({
      n: { type: "number" },
      b: { type: "boolean" },
      i: { type: "integer" },
      o: { type: "object" }
    })
    const say = "(write n:=... to send other JSON)"
    assert.strictEqual(why(assemble(["n=ten"], schema)), `n: "ten" is not a number ${say}`)
    assert.strictEqual(why(assemble(["n="], schema)), `n: "" is not a number ${say}`)
    assert.strictEqual(why(assemble(["n=0x10"], schema)), `n: "0x10" is not a number ${say}`)
    assert.strictEqual(why(assemble(["n=1e999"], schema)), `n: "1e999" is not a number ${say}`)
    assert.match(why(assemble(["b=yes"], schema)), /"yes" is not true or false/)
    assert.match(why(assemble(["i=9007199254740993"], schema)), /is not an integer/)
    assert.match(why(assemble(["o=[]"], schema)), /"\[\]" is not a JSON object/)
    assert.deepStrictEqual(ok(assemble([`n:="ten"`], schema)), { n: "ten" })
  })

  it("Booleans, null and objects are parsed only if nothing else is allowed", () => {
    const schema = object({
      b: { type: "boolean" },
      n: { anyOf: [{ type: "number" }, { type: "null" }] },
      o: { type: "object" }
    })
    assert.deepStrictEqual(ok(assemble(["b=true", "n=null", `o={"a":1}`], schema)), { b: true, n: null, o: { a: 1 } })
    assert.deepStrictEqual(ok(assemble(["b=false", "n=2"], schema)), { b: false, n: 2 })
  })

  it("An argument's type is inferred from an enum or a const", () => {
    assert.strictEqual(ok(coerce("2", { enum: [1, 2, 3] }, {})), 2)
    assert.strictEqual(ok(coerce("true", { const: true }, {})), true)
    assert.strictEqual(ok(coerce("2", { enum: ["1", "2"] }, {})), "2")
  })

  it("An argument's type follows references in the schema, even circular ones", () => {
    const root = {
      $defs: { "a/b": { type: "integer" }, loop: { $ref: "#/$defs/loop" } },
      ...object({ n: { $ref: "#/$defs/a~1b" }, l: { $ref: "#/$defs/loop" }, gone: { $ref: "#/$defs/gone" } })
    }
    assert.deepStrictEqual(ok(assemble(["n=3", "l=3", "gone=3"], root)), { n: 3, l: "3", gone: "3" })
  })

  it("A repeated key is collected if the schema expects a list, and rejected otherwise", () => {
    const schema = object({ t: { type: "array", items: { type: "integer" } }, s: { type: "string" } })
    assert.deepStrictEqual(ok(assemble(["t=1"], schema)), { t: [1] })
    assert.deepStrictEqual(ok(assemble(["t=1", "t=2", "t:=[3,4]"], schema)), { t: [1, 2, 3, 4] })
    assert.deepStrictEqual(ok(assemble(["t=[1,2]"], schema)), { t: [1, 2] })
    assert.match(why(assemble(["t=x"], schema)), /"x" is not an array/)
    assert.strictEqual(why(assemble(["s=1", "s=2"], schema)), "s is given twice, but it is not a list")
  })

  it("A single argument overrides the same key in --args", () => {
    assert.deepStrictEqual(ok(assemble(["a=2"], {}, { a: "1", b: [1] })), { a: "2", b: [1] })
    assert.match(why(parseBase("[1]")), /--args must be a JSON object/)
    assert.match(why(parseBase("{")), /--args is not JSON/)
  })

  it("Object.prototype names are ordinary arguments", () => {
    const made = ok(assemble(["__proto__=x", "constructor=y", "toString=1"], object({})))
    assert.deepStrictEqual(Object.entries(made), [
      ["__proto__", "x"],
      ["constructor", "y"],
      ["toString", "1"]
    ])
    assert.strictEqual(Object.getPrototypeOf(made), Object.prototype)
  })

  it("Prompt arguments stay text, in order", () => {
    assert.deepStrictEqual(ok(assembleText(["b=1", "a=true"])), [
      ["b", "1"],
      ["a", "true"]
    ])
    assert.match(why(assembleText(["a:=1"])), /only text/)
    assert.match(why(assembleText(["a=1", "a=2"])), /given twice/)
  })
})
