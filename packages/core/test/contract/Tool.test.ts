import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, SchemaGetter } from "effect"

const header = (name: unknown): Record<string, unknown> => ({ "x-mcp-header": name })
const annotated = (schema: Schema.Codec<any, any>, name: unknown) => schema.annotate(header(name))

describe("A tool", () => {
  it("A tool advertises the header of an argument", () => {
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
    ["an argument that is no string, integer or boolean", { n: annotated(Schema.Finite, "N") }],
    ["a name that is no header token", { a: annotated(Schema.String, "a b") }],
    ["an empty name", { a: annotated(Schema.String, "") }],
    [
      "a name that is used twice, in whatever case",
      { a: annotated(Schema.String, "X"), b: annotated(Schema.String, "x") }
    ]
  ])("A tool is refused where it is served when its headers break a rule: %s", (_title, input) => {
    const made = Tool.make("query", { description: "Queries.", input })
    const { jsonSchema } = Tool.codec(Schema.Struct(input))
    const raw = Tool.raw("query", { description: "Queries.", inputSchema: jsonSchema })
    assert.throws(() => Tools.layer(made, () => Effect.succeed("")), /query breaks a rule of x-mcp-header/)
    assert.throws(() => Tools.layer(raw, () => Effect.succeed("")), /query breaks a rule of x-mcp-header/)
  })

  it.each(["", "with space", "a".repeat(129), "a/b", "täst"])(
    "A tool is refused under a name outside the alphabet: %j",
    verifies("tools.name.characters"),
    (name) => {
      assert.throws(() => Tool.make(name, { description: "" }), /name/)
    }
  )

  it.effect("A tool by raw schemas checks values against them and passes them on unchanged", () =>
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

  it("A tool by a raw schema that cannot be checked is refused when the tool is made", () => {
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

describe("A tool whose schema cannot be advertised", () => {
  const make = (options: object) => Tool.make("pay", { description: "Pays.", ...options })
  const made = (options: object) => () => make(options)
  const served = (options: object) => {
    const tool = make(options)
    return () => Tools.layer(tool, () => Effect.succeed(""))
  }
  const sides = ["input", "output", "failure"] as const
  const nested = Schema.Struct({ list: Schema.Array(Schema.Struct({ price: instance })) })
  it.each(sides)(
    "A tool with a value of its %s that has no JSON form is refused where it is served, with its name and the field",
    (side) => {
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
    }
  )
  it("A tool with a value whose annotation gives it a JSON form is made", () => {
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
      "a field of another library",
      { amount: zod },
      /field "amount": A Standard Schema of zod is given, but an Effect Schema such as Schema.String is expected/
    ],
    [
      "a schema of another library",
      zod,
      /tool "pay": A Standard Schema of zod is given, but an Effect Schema or a record of them is expected/
    ],
    ["a schema that is a function", callable, /tool "pay": A Standard Schema of arktype is given/],
    ["a JSON Schema", { type: "object", properties: {} }, /field "type": A value of type string is given.*Tool\.raw/],
    ["null", null, /tool "pay": null is given/],
    ["an array", [Schema.String], /tool "pay": An array is given/],
    ["a constructor", { amount: Number }, /field "amount": A value of type function is given/],
    ["an undefined field", { amount: undefined }, /field "amount": undefined is given/]
  ] as const)("A tool that is given %s is refused with its name and the field", (_, given, message) => {
    for (const side of sides) {
      // No input at all is that of a tool without arguments.
      if (given === null && side === "input") continue
      assert.throws(made({ [side]: given }), JsonSchema.InvalidToolSchema, message)
    }
  })
})

describe("The JSON Schemas of a tool", () => {
  it("The JSON Schemas of a tool leave out the bounds of safe integers, and no others", () => {
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

  it("The JSON Schemas of a tool are those of its schemas, whenever they are read", () => {
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

  it("The JSON Schemas of a tool are those of its codecs, where the program hands them in", () => {
    const codec = Tool.codec(Schema.Struct({ a: Schema.String }))
    const own = { ...codec, jsonSchema: { type: "object", title: "Own" } }
    const { inputSchema, outputSchema } = Tool.descriptor(
      Tool.fromCodecs("own", { description: "", input: own, output: codec })
    )
    assert.deepStrictEqual<object>(inputSchema, own.jsonSchema)
    assert.strictEqual(outputSchema, codec.jsonSchema)
  })

  it("The JSON Schemas of a tool whose codec has none, as JavaScript may give, are refused with its name and the side", () => {
    const { decode, encode } = Tool.codec(Schema.Struct({}))
    const bare: object = { decode, encode }
    const tool = Tool.fromCodecs("bare", { description: "", input: bare as Tool.DescribedCodec<{}> })
    assert.throws(() => Tool.descriptor(tool), JsonSchema.InvalidToolSchema, 'The input of the tool "bare": Its codec')
  })

  it.each([
    ["is no object", Schema.String],
    ["has no JSON form", Schema.Struct({ [Symbol("key")]: Schema.String })],
    ["has no JSON form inside", Schema.Struct({ a: Schema.Array(Schema.Struct({ [Symbol("key")]: Schema.String })) })]
  ])("The JSON Schemas of a tool are refused where it is served: its input %s", (_title, input) => {
    const tool = Tool.make("query", { description: "Queries.", input })
    assert.throws(() => Tool.descriptor(tool), JsonSchema.InvalidToolSchema, 'The input of the tool "query": ')
  })
})
