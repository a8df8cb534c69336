import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as Portability from "@effect-mcp/protocol/Portability"
import { isPlainStruct } from "../../src/schema/PlainSchema.ts"

const words = { title: "T", description: "What it is" }
const leaves: ReadonlyArray<Schema.Codec<unknown, unknown>> = [
  Schema.String,
  Schema.Boolean,
  Schema.Number,
  Schema.Finite.annotate(words),
  Schema.Int,
  Schema.Null,
  Schema.Literal("a"),
  Schema.Literals(["b", "c"])
]

/** A schema by numbers: which leaf, and how it is wrapped. */
const wrap = (schema: Schema.Codec<unknown, unknown>, how: number): Schema.Codec<unknown, unknown> => {
  switch (how % 6) {
    case 0:
      return Schema.Array(schema)
    case 1:
      return Schema.NullOr(schema)
    case 2:
      return Schema.Struct({ a: schema, b: Schema.optionalKey(schema).annotateKey(words) })
    case 3:
      return schema.annotate(words)
    case 4:
      return Schema.Union([Schema.Struct({ tag: Schema.Literal("x"), of: schema }), schema])
    default:
      return schema
  }
}
const recipe = Arbitrary.schema(
  Schema.Array(
    Schema.Struct({
      leaf: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
      wraps: Schema.Array(Schema.Int)
    })
  )
)

describe("Plain schemas", () => {
  it.prop("A plain schema has a JSON form with an object root and declares no header", [recipe], ([fields]) => {
    const entries = fields.map(({ leaf, wraps }, i) => {
      const schema = wraps
        .slice(0, 4)
        .reduce((schema, how) => wrap(schema, Math.abs(how)), leaves[leaf] ?? Schema.String)
      return [`f${i}`, schema] as const
    })
    const schema = Schema.Struct(Object.fromEntries(entries))
    assert.isTrue(isPlainStruct(schema.ast))
    const document = JsonSchema.input(schema)
    assert.deepStrictEqual(HeaderParams.parse(document).problems, [])
    assert.deepStrictEqual(
      Portability.obstacles({ name: "tool", inputSchema: document }).filter(({ rule }) => rule !== "depth"),
      []
    )
    assert.deepStrictEqual(JsonSchema.later(schema, JsonSchema.input)(), document)
  })

  it.each<readonly [string, Schema.Constraint]>([
    ["a root that is not a struct", Schema.String],
    ["a union", Schema.Union([Schema.Struct({}), Schema.Struct({})])],
    ["a header", Schema.Struct({ a: Schema.String.annotate({ "x-mcp-header": "A" }) })],
    ["a number's header", Schema.Struct({ a: Schema.Int.annotate({ "x-mcp-header": "A" }) })],
    ["a key's header", Schema.Struct({ a: Schema.String.annotateKey({ "x-mcp-header": "A" }) })],
    ["a symbol", Schema.Struct({ [Symbol("a")]: Schema.String })],
    ["an identifier, which becomes a definition", Schema.Struct({ a: Schema.String.annotate({ identifier: "A" }) })],
    ["a default that may have no JSON form", Schema.Struct({ a: Schema.String.annotate({ default: "a" }) })],
    ["custom codec code", Schema.Struct({ a: Schema.Finite.annotate({ toJsonSchema: () => ({}) }) })],
    ["a custom check", Schema.Struct({ a: Schema.String.check(Schema.isMinLength(1)) })],
    ["a transformation", Schema.Struct({ a: Schema.NumberFromString })],
    ["a class", Schema.Struct({ a: Schema.Date })],
    ["recursion", Schema.Struct({ a: Schema.suspend(() => Schema.String) })],
    ["a record", Schema.Struct({ a: Schema.Record(Schema.String, Schema.String) })],
    ["a literal that is not a string", Schema.Struct({ a: Schema.Literal(1) })],
    ["a name that providers reject", Schema.Struct({ "a[]": Schema.String })],
    ["a big integer", Schema.Struct({ a: Schema.Literal(1n) })]
  ])("A schema with %s is not plain", (_title, schema) => {
    assert.isFalse(isPlainStruct(schema.ast))
  })
})
