import { JsonSchemaValidator } from "@effect-mcp/protocol"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { shrink } from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result } from "effect"

const schemas: ReadonlyArray<object> = [
  { type: "object", properties: { a: { type: "integer" }, b: { type: "string", minLength: 3 } }, required: ["a"] },
  {
    type: "object",
    properties: {
      n: { type: "number", minimum: 10, maximum: 11 },
      all: { type: "array", items: { type: "boolean" }, minItems: 2 }
    },
    required: ["n", "all"]
  },
  {
    type: "object",
    properties: {
      kind: { enum: ["x", "y"] },
      either: { anyOf: [{ type: "null" }, { type: "object", properties: { deep: { const: 7 } }, required: ["deep"] }] }
    },
    required: ["kind", "either"]
  },
  {
    type: "object",
    properties: { tree: { $ref: "#/$defs/tree" } },
    required: ["tree"],
    $defs: { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } }
  },
  {
    type: "object",
    properties: { when: { type: "string", format: "date-time" }, types: { type: ["string", "null"], maxLength: 2 } },
    required: ["when", "types"]
  },
  {
    type: "object",
    properties: { low: { type: "integer", exclusiveMinimum: 5 } },
    required: ["low"],
    additionalProperties: false
  }
]

describe("Values for a JSON Schema", () => {
  it.effect.each(schemas)("Valid values match the schema %j", (schema) =>
    Effect.gen(function* () {
      const validator = Result.getOrThrow(JsonSchemaValidator.compile(schema, { formats: true }))
      const values = yield* Arbitrary.sampleEffect(Fuzz.Values.valid(schema), { count: 200, size: 12, seed: 1 })
      for (const value of values) assert.deepStrictEqual(validator(value), [], JSON.stringify(value))
    })
  )

  it.effect.each(schemas)("Nearly valid values mostly do not match the schema %j", (schema) =>
    Effect.gen(function* () {
      const validator = Result.getOrThrow(JsonSchemaValidator.compile(schema))
      const values = yield* Arbitrary.sampleEffect(Fuzz.Values.almost(schema), { count: 200, size: 12, seed: 1 })
      assert.isAtLeast(values.filter((value) => validator(value).length > 0).length, 60)
    })
  )
})

describe("Choices", () => {
  it.effect.each([2, 3, 9, 20])("A choice picks each of %i values equally often", (count) =>
    Effect.gen(function* () {
      const one = Fuzz.Values.oneOf(...Array.from({ length: count }, (_, index) => index))
      const drawn = yield* Arbitrary.sampleEffect(one, { count: count * 400, size: 12, seed: "even" })
      const counts = Array.from({ length: count }, (_, index) => drawn.filter((value) => value === index).length)
      for (const times of counts) assert.isTrue(times > 320 && times < 480, counts.join(" "))
    })
  )

  it.effect("A choice shrinks towards earlier values", () =>
    Effect.gen(function* () {
      const one = Fuzz.Values.oneOf("a", "b", "c", "d")
      const result = yield* Arbitrary.checkEffect(one, (value) => Effect.succeed(value < "b"), { seed: 1 })
      assert.strictEqual(result._tag === "Falsified" ? result.shrunkInput : result._tag, "b")
    })
  )
})

describe("Shrinker", () => {
  const script: Fuzz.Script = {
    revision: "2025-11-25",
    commands: [
      { _tag: "Open" },
      { _tag: "Request", method: "ping" },
      { _tag: "Wait" },
      {
        _tag: "Request",
        method: "tools/call",
        params: { name: "a", arguments: { long: "x".repeat(100), other: [1, 2] } }
      },
      { _tag: "Raw", text: "{" },
      { _tag: "Request", method: "ping" }
    ]
  }

  it.effect("The shrinker removes every unnecessary command and argument", () =>
    Effect.gen(function* () {
      const least = yield* shrink(script, ({ commands }) =>
        Effect.succeed(
          commands.some((c) => c._tag === "Request" && c.method === "tools/call" && c.params !== undefined) &&
            commands.some((c) => c._tag === "Raw")
        )
      )
      assert.deepStrictEqual(least.commands, [
        { _tag: "Request", method: "tools/call", params: {} },
        { _tag: "Raw", text: "{" }
      ])
    })
  )

  it.effect("The shrinker plays no more than its budget", () =>
    Effect.gen(function* () {
      let plays = 0
      yield* shrink(script, () => Effect.sync(() => ++plays < 0), { budget: 5 })
      assert.strictEqual(plays, 5)
    })
  )
})
