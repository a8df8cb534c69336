import * as Tool from "@effect-mcp/core/Tool"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const header = (name: unknown): Record<string, unknown> => ({ "x-mcp-header": name })
const annotated = (schema: Schema.Codec<any, any>, name: unknown) => schema.annotate(header(name))

describe("a tool", () => {
  it("advertises the header that an argument asks for", () => {
    const tool = Tool.make("query", {
      description: "Queries.",
      input: { region: annotated(Schema.String, "Region"), sql: Schema.String }
    })
    assert.deepStrictEqual(tool.descriptor.inputSchema.properties, {
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
  ])("is refused when its headers break a rule: %s", (_title, input) => {
    assert.throws(() => Tool.make("query", { description: "Queries.", input }), /x-mcp-header/)
  })

  it.each(["", "with space", "a".repeat(129), "a/b", "täst"])(
    `is refused under a name outside the alphabet: %j${verifies("tools.name.characters")}`,
    (name) => {
      assert.throws(() => Tool.make(name, { description: "" }), /name/)
    }
  )

  it.effect("by raw schemas checks values against them and passes them on as they are", () =>
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

  it("by a raw schema that cannot be checked is refused when it is made", () => {
    assert.throws(() =>
      Tool.raw("raw", { description: "", inputSchema: { type: "object", $ref: "https://example.com/schema.json" } })
    )
  })
})

describe("the JSON Schemas of a tool", () => {
  it("are those of its schemas, whenever they are asked for", () => {
    const input = { query: Schema.String, limit: Schema.optionalKey(Schema.Finite.annotate({ description: "Rows" })) }
    const output = { rows: Schema.Array(Schema.String) }
    const tool = Tool.make("query", { description: "Queries.", input, output })
    const { inputSchema, outputSchema } = { ...tool.descriptor }
    assert.deepStrictEqual(inputSchema, JsonSchema.input(Schema.Struct(input)))
    assert.deepStrictEqual(outputSchema, JsonSchema.output(Schema.Struct(output)).schema)
    assert.deepStrictEqual(tool.input.jsonSchema, inputSchema)
    assert.deepStrictEqual(Object.keys(tool.descriptor), ["name", "description", "inputSchema", "outputSchema"])
  })

  it.each([
    ["is no object", Schema.String],
    ["has no JSON form", Schema.Struct({ [Symbol("key")]: Schema.String })],
    ["has no JSON form inside", Schema.Struct({ a: Schema.Array(Schema.Struct({ [Symbol("key")]: Schema.String })) })]
  ])("are refused when the tool is made: its input %s", (_title, input) => {
    assert.throws(() => Tool.make("query", { description: "Queries.", input }))
  })
})
