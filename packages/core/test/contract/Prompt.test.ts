/** Prompts whose arguments cannot be sent as strings are rejected when they are created. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const made = (args: any) => () => Prompt.make("review", { arguments: args })
const zod = { "~standard": { version: 1, vendor: "zod", validate: () => ({ value: 1 }) } }
const of = 'The arguments of the prompt "review"'

describe("Prompt.make", () => {
  it.each([
    ["a number", Schema.Number],
    ["an optional number", Schema.optionalKey(Schema.Finite)],
    ["a struct", Schema.Struct({})],
    ["Schema.Never", Schema.Never],
    ["a duration", Schema.Duration],
    ["a date", Schema.Date],
    ["an instance", Schema.URL],
    ["null alongside strings", Schema.NullOr(Schema.String)],
    ["a choice of numbers", Schema.Literals(["1", 2])],
    ["only undefined", Schema.Undefined]
  ] as const)("rejects an argument that is %s", (_, commit) => {
    assert.throws(
      made({ commit }),
      JsonSchema.InvalidToolSchema,
      `${of}, field "commit": Prompt arguments must encode to strings`
    )
  })

  it.each([
    [
      "a schema from another library",
      { commit: zod },
      `${of}, field "commit": Expected an Effect Schema such as Schema.String, but received a Standard Schema from zod`
    ],
    [
      "an undefined field",
      { commit: undefined },
      `${of}, field "commit": Expected an Effect Schema such as Schema.String, but received undefined`
    ],
    [
      "null",
      { commit: null },
      `${of}, field "commit": Expected an Effect Schema such as Schema.String, but received null`
    ],
    [
      "a whole schema",
      Schema.Struct({ commit: Schema.String }),
      `${of}: Expected a record of schemas, but received a schema`
    ]
  ] as const)("rejects %s", (_, args, message) => {
    assert.throws(made(args), JsonSchema.InvalidToolSchema, message)
  })

  it("accepts any schema that encodes to a string", () => {
    const make = made({
      text: Schema.String,
      number: Schema.FiniteFromString,
      choice: Schema.Literals(["a", "b"]),
      template: Schema.TemplateLiteral(["#", Schema.Number]),
      optional: Schema.optional(Schema.String),
      url: Schema.URLFromString,
      color: Schema.Enum({ Red: "red" }),
      later: Schema.suspend(() => Schema.String),
      any: Schema.Any
    })
    assert.doesNotThrow(make)
  })
})
