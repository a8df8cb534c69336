import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Arbitrary, Schema } from "effect"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as Portability from "@effect-mcp/protocol/Portability"
import { isJsonObject } from "../../../src/internal/JsonObject.ts"
import { isPlainInput } from "../../../src/schema/portability/isPlainlyPortable.ts"
import { anthropic, gemini, openai } from "./providers.ts"

const ajv = new Ajv2020({ strict: false, validateFormats: false, unicodeRegExp: true })

interface Tree {
  readonly name: string
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  name: Schema.String,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)).check(Schema.isMaxLength(2))
}).annotate({ identifier: "Tree" })

class Person extends Schema.Class<Person>("Person")({ name: Schema.String, age: Schema.Int }) {}

const File = Schema.Struct({ kind: Schema.Literal("file"), path: Schema.String, line: Schema.optionalKey(Schema.Int) })
const Url = Schema.Struct({ kind: Schema.Literal("url"), href: Schema.String }).annotate({ description: "A page" })
const Text = Schema.Struct({ kind: Schema.Literals(["text", "code"]), text: Schema.String })

/** One input of a tool for each kind of schema. */
const kinds: ReadonlyArray<readonly [title: string, schema: Schema.Codec<unknown, unknown>]> = [
  [
    "a struct of plain parts",
    Schema.Struct({ a: Schema.String, b: Schema.optionalKey(Schema.Finite), c: Schema.Boolean })
  ],
  ["an empty struct", Schema.Struct({})],
  ["a tagged union", Schema.Union([File, Url])],
  ["a tagged union of three, one with two tags", Schema.Union([File, Url, Text])],
  ["a union of unions", Schema.Union([Schema.Union([File, Url]), Text])],
  [
    "a union tagged by numbers",
    Schema.Union([
      Schema.Struct({ v: Schema.Literal(1), a: Schema.String }),
      Schema.Struct({ v: Schema.Literal(2), b: Schema.String })
    ])
  ],
  [
    "a tagged union of Effect",
    Schema.TaggedUnion({ Circle: { radius: Schema.Finite }, Square: { side: Schema.Finite } })
  ],
  ["a union without a tag", Schema.Union([Schema.Struct({ path: Schema.String }), Schema.Struct({ id: Schema.Int })])],
  [
    "a union whose members share a name",
    Schema.Union([
      Schema.Struct({ at: Schema.String, a: Schema.Int }),
      Schema.Struct({ at: Schema.Int, b: Schema.Int })
    ])
  ],
  [
    "a union with a record",
    Schema.Union([
      Schema.Struct({ kind: Schema.Literal("x"), n: Schema.Int }),
      Schema.Record(Schema.String, Schema.String)
    ])
  ],
  ["a class", Person],
  ["a union of classes", Schema.Union([Person, File])],
  ["a schema that contains itself", Tree],
  ["a schema with a recursive part", Schema.Struct({ tree: Tree, other: Schema.optionalKey(Tree) })],
  ["a named part used twice", Schema.Struct({ from: Person, to: Person })],
  [
    "a tuple",
    Schema.Struct({
      at: Schema.Tuple([Schema.String, Schema.Finite]),
      more: Schema.TupleWithRest(Schema.Tuple([Schema.Int]), [Schema.String])
    })
  ],
  [
    "literals of every type",
    Schema.Struct({
      a: Schema.Literals([1, 2, 3]),
      b: Schema.Literals(["x", 1, true]),
      c: Schema.Literal(false),
      d: Schema.NullOr(Schema.Literals(["y", "z"])),
      e: Schema.Literals([0.5, 7])
    })
  ],
  [
    "numbers with bounds",
    Schema.Struct({
      a: Schema.Int.check(Schema.isGreaterThan(0)),
      b: Schema.Finite.check(Schema.isLessThan(1)),
      c: Schema.Int.check(Schema.isMultipleOf(5)),
      d: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
    })
  ],
  [
    "dates, URLs and sets",
    Schema.Struct({
      at: Schema.Date,
      url: Schema.URL,
      ids: Schema.ReadonlySet(Schema.Int),
      by: Schema.ReadonlyMap(Schema.String, Schema.Int)
    })
  ],
  [
    "records",
    Schema.Struct({
      a: Schema.Record(Schema.String, Schema.Int),
      b: Schema.StructWithRest(Schema.Struct({ x: Schema.String }), [Schema.Record(Schema.String, Schema.String)])
    })
  ],
  ["anything", Schema.Struct({ a: Schema.Unknown, b: Schema.Json })],
  [
    "names that providers refuse",
    Schema.Struct({
      "Date<": Schema.String,
      "filter[name]": Schema.optionalKey(Schema.String),
      filter_name_: Schema.optionalKey(Schema.String)
    })
  ],
  ["unique items", Schema.Struct({ a: Schema.Array(Schema.Int).check(Schema.isUnique()) })],
  [
    "patterns",
    Schema.Struct({
      a: Schema.String.check(Schema.isPattern(/^(?!x)[a-z]{0,3}$/)),
      b: Schema.String.check(Schema.isPattern(/^[a-c]{1,3}$/))
    })
  ]
]

const described = (schema: Schema.Codec<unknown, unknown>) => {
  const inputSchema = JsonSchema.input(schema)
  return { document: inputSchema, portable: Portability.portable({ name: "tool", inputSchema }) }
}

/** Renames the properties as a model would, which only sees the projection. */
const sentAs = (portable: Portability.Portable<Portability.Described>, wire: { readonly [key: string]: unknown }) => {
  const { properties } = portable.tool.inputSchema
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const alias = new Map(names.map((name) => [Object.keys(portable.original({ [name]: 0 }))[0], name]))
  return Object.fromEntries(Object.entries(wire).map(([key, value]) => [alias.get(key) ?? key, value]))
}

describe.each(kinds)("The projection of %s", (_, schema) => {
  const { document, portable } = described(schema)
  const codec = JsonSchema.codec(schema)
  const accepts = ajv.compile(portable.tool.inputSchema)

  it.prop(
    "Accepts every input of the tool, and decodes it to the same value",
    [Arbitrary.schema(schema)],
    ([value]) => {
      const wire = Schema.encodeUnknownSync(codec)(value)
      if (!isJsonObject(wire)) throw new Error("The input is not an object")
      const sent = sentAs(portable, wire)
      assert.isTrue(accepts(sent), JSON.stringify([sent, accepts.errors, portable.tool.inputSchema]))
      const decode = Schema.decodeUnknownSync(codec)
      assert.deepStrictEqual(decode(portable.original(sent)), decode(wire))
    }
  )

  it("Is accepted by every provider", () => {
    for (const provider of [anthropic, openai, gemini]) assert.deepStrictEqual(provider(portable.tool.inputSchema), [])
    assert.deepStrictEqual(
      portable.left.filter(({ rule }) => Portability.rules[rule].projectable),
      []
    )
  })

  it("Is skipped only if the schema breaks no rule", () => {
    if (isPlainInput(document))
      assert.deepStrictEqual(Portability.obstacles({ name: "tool", inputSchema: document }), [])
    else assert.notStrictEqual(portable.tool.inputSchema === document && portable.left.length === 0, true)
  })
})

describe("Untrusted schemas", () => {
  const portable = (inputSchema: Portability.Described["inputSchema"]) =>
    Portability.portable({ name: "tool", inputSchema }).tool.inputSchema

  it("Merges keywords and properties named like members of Object.prototype", () => {
    const part: unknown = JSON.parse(
      '{ "__defineGetter__": 1, "toString": 2, "properties": { "constructor": { "type": "string" } }, "required": ["constructor"] }'
    )
    const { properties, required, ...rest } = portable({ type: "object", allOf: [part, { properties: { b: {} } }] })
    assert.deepStrictEqual(properties, { constructor: { type: "string" }, b: {} })
    assert.deepStrictEqual(required, ["constructor"])
    assert.strictEqual(rest["toString"], 2)
  })

  it("Keeps both values of a call that has a replaced name and its replacement", () => {
    const inputSchema = { type: "object", properties: { "date<": { type: "string" } } }
    const { original, tool } = Portability.portable({ name: "tool", inputSchema })
    assert.deepStrictEqual(Object.keys(Object(tool.inputSchema["properties"])), ["date_"])
    assert.deepStrictEqual(original({ date_: "May" }), { "date<": "May" })
    assert.deepStrictEqual(original({ "date<": "May", date_: 1 }), { "date<": "May", date_: 1 })
  })

  it("Replaces thousands of names that look alike with different names", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 3500 }, (_, at) => [String.fromCharCode(0x4e00 + at), {}])
    )
    const names = Object.keys(Object(portable({ type: "object", properties })["properties"]))
    assert.strictEqual(names.length, 3500)
    assert.deepStrictEqual(names.slice(0, 3), ["_", "__2", "__3"])
  })

  it("Describes a definition in words once it has been repeated too often", () => {
    const properties = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`p${at}`, { $ref: "#" }]))
    const text = JSON.stringify(portable({ type: "object", properties }))
    assert.include(text, "Same form as the whole input above.")
    assert.isBelow(text.length, 150_000)
  })

  it("Leaves schemas longer than 64 KiB unchanged", () => {
    const forms = Array.from({ length: 3000 }, (_, at) => ({
      type: "object",
      properties: { [`k${at}`]: { type: "string" } }
    }))
    const large = { type: "object", oneOf: forms }
    assert.strictEqual(portable(large), large)
  })
})
