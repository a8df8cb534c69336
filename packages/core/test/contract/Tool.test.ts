import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, SchemaGetter } from "effect"

const header = (name: unknown): Record<string, unknown> => ({ "x-mcp-header": name })
const annotated = (schema: Schema.Codec<any, any>, name: unknown) => schema.annotate(header(name))

describe("Tool definitions", () => {
  it("A tool advertises an argument's header", () => {
    const tool = Tool.make("query", {
      description: "Queries.",
      input: { region: annotated(Schema.String, "Region"), sql: Schema.String }
    })
    assert.deepStrictEqual(Tool.descriptor(tool).inputSchema.properties, {
      region: { type: "string", "x-mcp-header": "Region" },
      sql: { type: "string" }
    })
  })

  it.each([
    ["an argument that is not a string, integer or boolean", { n: annotated(Schema.Finite, "N") }],
    ["a name that is not a header token", { a: annotated(Schema.String, "a b") }],
    ["an empty name", { a: annotated(Schema.String, "") }],
    ["a duplicate name, ignoring case", { a: annotated(Schema.String, "X"), b: annotated(Schema.String, "x") }]
  ])("Serving a tool with invalid headers fails: %s", (_title, input) => {
    const made = Tool.make("query", { description: "Queries.", input })
    const { jsonSchema } = Tool.codec(Schema.Struct(input))
    const raw = Tool.raw("query", { description: "Queries.", inputSchema: jsonSchema })
    assert.throws(() => Tools.layer(made, () => Effect.succeed("")), /query has an invalid x-mcp-header/)
    assert.throws(() => Tools.layer(raw, () => Effect.succeed("")), /query has an invalid x-mcp-header/)
  })

  it.each(["", "with space", "a".repeat(129), "a/b", "täst"])(
    "A tool name with invalid characters is rejected: %j",
    verifies("tools.name.characters"),
    (name) => {
      assert.throws(() => Tool.make(name, { description: "" }), /name/)
    }
  )

  it.effect("A tool with raw schemas validates values and passes them on unchanged", () =>
    Effect.gen(function* () {
      const tool = Tool.raw("raw", {
        description: "Raw.",
        inputSchema: { type: "object", properties: { a: { type: "integer" } }, required: ["a"] }
      })
      const value = { a: 1, other: true }
      assert.strictEqual(yield* tool.input.decode(value), value)
      const error = yield* Effect.flip(tool.input.decode({ a: "1" }))
      assert.include(error.message, "/a")
    })
  )

  it("A raw schema that does not compile is rejected when the tool is created", () => {
    assert.throws(() =>
      Tool.raw("raw", { description: "", inputSchema: { type: "object", $ref: "https://example.com/schema.json" } })
    )
  })
})

class Money {
  readonly cents = 0
}
const instance = Schema.instanceOf(Money)
const zod = { "~standard": { version: 1, vendor: "zod", validate: () => ({ value: 1 }) } }
const callable = Object.assign(() => {}, {
  "~standard": { version: 1, vendor: "arktype", validate: () => ({ value: 1 }) }
})

describe("Tools whose schema cannot be advertised", () => {
  const make = (options: object) => Tool.make("pay", { description: "Pays.", ...options })
  const made = (options: object) => () => make(options)
  const served = (options: object) => {
    const tool = make(options)
    return () => Tools.layer(tool, () => Effect.succeed(""))
  }
  const sides = ["input", "output", "failure"] as const
  const nested = Schema.Struct({ list: Schema.Array(Schema.Struct({ price: instance })) })
  it.each(sides)("Serving a tool whose %s has no JSON form fails, naming the tool and field", (side) => {
    for (const schema of [
      nested,
      Schema.Struct({ list: Schema.Record(Schema.String, Schema.Struct({ price: instance })) })
    ]) {
      assert.throws(
        served({ [side]: schema }),
        JsonSchema.InvalidToolSchema,
        `The ${side} of the tool "pay": Its part at /list/*/price is a Schema.declare or Schema.instanceOf without a JSON form`
      )
    }
    assert.throws(
      served({ [side]: instance }),
      JsonSchema.InvalidToolSchema,
      `The ${side} of the tool "pay": This schema is`
    )
  })
  it.each([
    ["Schema.Never", Schema.Never],
    ["an empty union", Schema.Union([])],
    ["a required field of Schema.Never", Schema.Struct({ a: Schema.Struct({ b: Schema.Never }) })]
  ] as const)("Serving a tool whose input or output is %s fails", (_, schema) => {
    for (const side of ["input", "output"]) {
      assert.throws(
        served({ [side]: schema }),
        JsonSchema.InvalidToolSchema,
        `The ${side} of the tool "pay": No value can match this schema`
      )
    }
    served({ output: Schema.Struct({ a: Schema.optionalKey(Schema.Never) }), failure: schema })()
  })
  it("A tool can use a value whose annotation provides a JSON form", () => {
    const priced = instance.pipe(
      Schema.encodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(() => new Money()),
        encode: SchemaGetter.transform(({ cents }) => cents)
      })
    )
    assert.deepInclude(Tool.descriptor(make({ input: { priced } })).inputSchema.properties, {
      priced: { type: "number" }
    })
  })
  it.each([
    [
      "a field from another library",
      { amount: zod },
      /field "amount": Expected an Effect Schema such as Schema.String, but received a Standard Schema from zod/
    ],
    [
      "a schema from another library",
      zod,
      /tool "pay": Expected an Effect Schema or a record of them, but received a Standard Schema from zod/
    ],
    ["a schema that is a function", callable, /tool "pay": Expected .*, but received a Standard Schema from arktype/],
    [
      "a JSON Schema",
      { type: "object", properties: {} },
      /field "type": Expected .*, but received a value of type string.*Tool\.raw/
    ],
    ["null", null, /tool "pay": Expected .*, but received null/],
    ["an array", [Schema.String], /tool "pay": Expected .*, but received an array/],
    ["a constructor", { amount: Number }, /field "amount": Expected .*, but received a value of type function/],
    ["an undefined field", { amount: undefined }, /field "amount": Expected .*, but received undefined/]
  ] as const)("A tool given %s is rejected, naming the tool and field", (_, given, message) => {
    for (const side of sides) {
      // A tool without arguments has no input at all.
      if (given === null && side === "input") continue
      assert.throws(made({ [side]: given }), JsonSchema.InvalidToolSchema, message)
    }
  })
})

describe("Tool JSON Schemas", () => {
  it("JSON Schemas omit the implicit bounds of safe integers", () => {
    const count = Tool.make("count", {
      description: "Counts.",
      input: {
        any: Schema.Int,
        few: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
        up: Schema.Int.check(Schema.isGreaterThan(3)),
        list: Schema.optionalKey(Schema.Array(Schema.Int))
      }
    })
    assert.deepStrictEqual(Tool.descriptor(count).inputSchema.properties, {
      any: { type: "integer" },
      few: { type: "integer", minimum: 0, maximum: 10 },
      up: { type: "integer", exclusiveMinimum: 3 },
      list: { type: "array", items: { type: "integer" } }
    })
  })

  it("JSON Schemas match the tool's schemas and are built once", () => {
    const input = { query: Schema.String, limit: Schema.optionalKey(Schema.Finite.annotate({ description: "Rows" })) }
    const output = { rows: Schema.Array(Schema.String) }
    const tool = Tool.make("query", { description: "Queries.", input, output })
    const descriptor = Tool.descriptor(tool)
    const { inputSchema, outputSchema } = { ...descriptor }
    assert.deepStrictEqual(inputSchema, JsonSchema.input(Schema.Struct(input)))
    assert.deepStrictEqual(outputSchema, JsonSchema.output(Schema.Struct(output)).schema)
    assert.deepStrictEqual(Object.keys(descriptor), ["name", "description", "inputSchema", "outputSchema"])
    assert.strictEqual(Tool.descriptor(tool), descriptor)
    assert.strictEqual(descriptor.inputSchema, descriptor.inputSchema)
  })

  it("JSON Schemas come from the tool's codecs if the program provides them", () => {
    const codec = Tool.codec(Schema.Struct({ a: Schema.String }))
    const own = { ...codec, jsonSchema: { type: "object", title: "Own" } }
    const { inputSchema, outputSchema } = Tool.descriptor(
      Tool.fromCodecs("own", { description: "", input: own, output: codec })
    )
    assert.deepStrictEqual<object>(inputSchema, own.jsonSchema)
    assert.strictEqual(outputSchema, codec.jsonSchema)
  })

  it("A codec without a JSON Schema is rejected, naming the tool and side", () => {
    const { decode, encode } = Tool.codec(Schema.Struct({}))
    const bare: object = { decode, encode }
    const tool = Tool.fromCodecs("bare", { description: "", input: bare as Tool.DescribedCodec<{}> })
    assert.throws(() => Tool.descriptor(tool), JsonSchema.InvalidToolSchema, 'The input of the tool "bare": The codec')
  })

  it.each([
    ["is not an object", Schema.String],
    ["has no JSON form", Schema.Struct({ [Symbol("key")]: Schema.String })],
    ["has no JSON form inside", Schema.Struct({ a: Schema.Array(Schema.Struct({ [Symbol("key")]: Schema.String })) })]
  ])("Serving a tool fails if its input %s", (_title, input) => {
    const tool = Tool.make("query", { description: "Queries.", input })
    assert.throws(() => Tool.descriptor(tool), JsonSchema.InvalidToolSchema, 'The input of the tool "query": ')
  })
})
