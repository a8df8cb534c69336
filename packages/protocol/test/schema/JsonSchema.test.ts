import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Option, Result, Schema } from "effect"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { verifies } from "@effect-mcp/spec/verifies"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"

const validator = (schema: Schema.Constraint) =>
  Result.getOrThrow(JsonSchemaValidator.compile(JsonSchema.fromSchema(schema)))

class Person extends Schema.Class<Person>("Person")(
  { name: Schema.String, born: Schema.Date },
  { description: "A person" }
) {}

interface Tree {
  readonly value: number
  readonly kids: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  value: Schema.Number,
  kids: Schema.Array(Schema.suspend(() => Tree))
})

describe("JsonSchema.fromSchema", () => {
  const cases: ReadonlyArray<readonly [what: string, schema: Schema.Constraint, document: JsonSchema.JsonObject]> = [
    ["a number as finite", Schema.Number, { type: "number" }],
    [
      "a checked number with its bounds and description",
      Schema.Number.check(Schema.isGreaterThan(0)).annotate({ description: "price" }),
      { type: "number", exclusiveMinimum: 0, description: "price" }
    ],
    [
      "an integer",
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      { type: "integer", minimum: 1, maximum: 5 }
    ],
    [
      "an undescribed number inside a declaration",
      Schema.ReadonlyMap(Schema.String, Schema.Number),
      {
        type: "array",
        items: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 2, maxItems: 2 }
      }
    ],
    ["a date as a date-time", Schema.Date, { type: "string", format: "date-time" }],
    ["a UTC time as a date-time", Schema.DateTimeUtcFromString, { type: "string", format: "date-time" }],
    ["a URL", Schema.URL, { type: "string", format: "uri" }],
    ["a big integer as digits", Schema.BigInt, { type: "string", pattern: "^-?\\d+$" }],
    ["literals as an enum", Schema.Literals(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["null where it is a value", Schema.NullOr(Schema.String), { anyOf: [{ type: "string" }, { type: "null" }] }],
    ["anything", Schema.Unknown, {}],
    ["an empty struct as an object", Schema.Struct({}), { type: "object" }],
    [
      "a record",
      Schema.Record(Schema.String, Schema.Number),
      { type: "object", additionalProperties: { type: "number" } }
    ],
    [
      "a struct with unknown fields as open",
      Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)]),
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] }
    ],
    [
      "optional fields as not required, and never as null",
      Schema.Struct({
        key: Schema.optionalKey(Schema.String),
        value: Schema.optional(Schema.Number),
        date: Schema.optional(Schema.Date.annotate({ description: "when" })),
        choice: Schema.optional(Schema.Union([Schema.String, Schema.Boolean])),
        defaulted: Schema.String.pipe(Schema.withDecodingDefault(Effect.succeed("x"))),
        defaultedKey: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("x")))
      }),
      {
        type: "object",
        properties: {
          key: { type: "string" },
          value: { type: "number" },
          date: { type: "string", format: "date-time", description: "when" },
          choice: { anyOf: [{ type: "string" }, { type: "boolean" }] },
          defaulted: { type: "string" },
          defaultedKey: { type: "string" }
        }
      }
    ],
    [
      "annotations on fields and their keys",
      Schema.Struct({
        a: Schema.String.annotate({
          title: "A",
          description: "value",
          default: "d",
          examples: ["e"],
          format: "email",
          "x-mcp-header": "A"
        }),
        b: Schema.String.pipe(Schema.annotateKey({ description: "key" })),
        c: Schema.optional(Schema.Date).pipe(Schema.annotateKey({ title: "C" }))
      }),
      {
        type: "object",
        properties: {
          a: {
            type: "string",
            title: "A",
            description: "value",
            default: "d",
            examples: ["e"],
            format: "email",
            "x-mcp-header": "A"
          },
          b: { type: "string", description: "key" },
          c: { type: "string", format: "date-time", title: "C" }
        },
        required: ["a", "b"]
      }
    ],
    [
      "the annotations of a transformed value's encoded form",
      Schema.Date.annotate({ description: "when", examples: [new Date(0)], default: new Date(1), "x-y": 1 }),
      {
        type: "string",
        format: "date-time",
        description: "when",
        examples: ["1970-01-01T00:00:00.000Z"],
        default: "1970-01-01T00:00:00.001Z",
        "x-y": 1
      }
    ],
    [
      "a class at the root inline, with its description",
      Person,
      {
        type: "object",
        properties: { name: { type: "string" }, born: { type: "string", format: "date-time" } },
        required: ["name", "born"],
        description: "A person"
      }
    ],
    [
      "a recursive schema at the root inline, and again in $defs",
      Tree,
      {
        type: "object",
        properties: { value: { type: "number" }, kids: { type: "array", items: { $ref: "#/$defs/Objects_" } } },
        required: ["value", "kids"],
        $defs: {
          Objects_: {
            type: "object",
            properties: { value: { type: "number" }, kids: { type: "array", items: { $ref: "#/$defs/Objects_" } } },
            required: ["value", "kids"]
          }
        }
      }
    ],
    [
      "a plain-text pattern",
      Schema.String.check(Schema.isPattern(/^[a-z\d_.-]+$/)),
      { type: "string", pattern: "^[a-z\\d_.-]+$" }
    ],
    [
      "no pattern that JSON Schema reads differently",
      Schema.String.check(Schema.isPattern(/^..$/i)),
      { type: "string" }
    ],
    [
      "no pattern with a wildcard that splits a character",
      Schema.String.check(Schema.isPattern(/^..$/)),
      { type: "string" }
    ],
    [
      "titled choices",
      JsonSchema.titled({ "#F00": "Red", "#0F0": "Green" }),
      {
        anyOf: [
          { type: "string", enum: ["#F00"], title: "Red" },
          { type: "string", enum: ["#0F0"], title: "Green" }
        ]
      }
    ]
  ]
  for (const [what, schema, document] of cases) {
    it(`JsonSchema.fromSchema advertises ${what}`, () => {
      assert.deepStrictEqual(JsonSchema.fromSchema(schema), document)
      validator(schema)
    })
  }

  it("JsonSchema.fromSchema shares named schemas in $defs, even optional ones", () => {
    const document = JsonSchema.fromSchema(
      Schema.Struct({ a: Person, b: Schema.Array(Person), c: Schema.optionalKey(Person) })
    )
    assert.deepStrictEqual(document["properties"], {
      a: { $ref: "#/$defs/PersonEncoded" },
      b: { type: "array", items: { $ref: "#/$defs/PersonEncoded" } },
      c: { $ref: "#/$defs/PersonEncoded" }
    })
    assert.deepStrictEqual(Object.keys(Object(document["$defs"])), ["PersonEncoded"])
  })

  it("JsonSchema.fromSchema throws a typed defect for keys that JSON cannot represent", () => {
    assert.throws(
      () => JsonSchema.fromSchema(Schema.Struct({ [Symbol.for("s")]: Schema.String })),
      JsonSchema.InvalidToolSchema
    )
  })
})

describe("JsonSchema.input and output", () => {
  it(
    "JsonSchema.input puts type: object at the root of a union of objects",
    verifies("tools.definition.input-schema-object"),
    () => {
      const either = Schema.Union([Schema.Struct({ a: Schema.String }), Person])
      const document = JsonSchema.input(either)
      assert.strictEqual(document.type, "object")
      assert.lengthOf(document["anyOf"] as Array<unknown>, 2)
      assert.isTrue(JsonSchema.output(either).isObject)
    }
  )

  for (const [what, schema] of [
    ["a string", Schema.String],
    ["anything", Schema.Unknown],
    ["an array", Schema.Array(Schema.Struct({}))],
    ["a union with a non-object member", Schema.NullOr(Schema.Struct({}))]
  ] as const) {
    it(`JsonSchema.input and output reject ${what} as an object`, () => {
      assert.throws(() => JsonSchema.input(schema), JsonSchema.InvalidToolSchema)
      const output = JsonSchema.output(schema)
      assert.isFalse(output.isObject)
      assert.deepStrictEqual(output.schema, JsonSchema.fromSchema(schema))
    })
  }

  it(
    "JsonSchema.input declares that a parameterless tool accepts only empty objects",
    verifies("tools.definition.no-parameters"),
    () => {
      assert.deepStrictEqual(JsonSchema.input(Schema.Struct({})), {
        type: "object",
        properties: {},
        additionalProperties: false
      })
      assert.deepStrictEqual(JsonSchema.input(Schema.Record(Schema.String, Schema.Unknown)), { type: "object" })
    }
  )

  it("Structs, records, classes and recursive schemas count as objects for input and output", () => {
    for (const schema of [Schema.Struct({}), Schema.Record(Schema.String, Schema.Unknown), Person, Tree]) {
      assert.strictEqual(JsonSchema.input(schema).type, "object")
      assert.isTrue(JsonSchema.output(schema).isObject)
    }
  })
})

describe("JsonSchema.codec", () => {
  it.effect("JsonSchema.codec reads missing fields as undefined, but rejects null", () =>
    Effect.gen(function* () {
      const codec = JsonSchema.codec(
        Schema.Struct({ a: Schema.optional(Schema.Date), b: Schema.optional(Schema.Number) })
      )
      assert.deepStrictEqual(yield* Schema.encodeEffect(codec)({ a: undefined, b: 1 }), { b: 1 })
      assert.deepStrictEqual(yield* Schema.decodeEffect(codec)({}), {})
      assert.deepStrictEqual(yield* Schema.decodeEffect(codec)({ a: "1970-01-01T00:00:00Z" }), { a: new Date(0) })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Schema.decodeEffect(codec)({ a: null }))))
    })
  )

  it.effect("JsonSchema.codec rejects numbers that JSON cannot represent, in both directions", () =>
    Effect.gen(function* () {
      const codec = JsonSchema.codec(Schema.Struct({ n: Schema.Number }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Schema.decodeUnknownEffect(codec)({ n: "Infinity" }))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Schema.encodeEffect(codec)({ n: Number.POSITIVE_INFINITY }))))
    })
  )

  it.effect("JsonSchema.codec drops unknown fields", () =>
    Effect.gen(function* () {
      const codec = JsonSchema.codec(Schema.Struct({ e: Schema.Struct({}) }))
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(codec)({ e: { x: 1 }, y: 2 }), { e: {} })
      for (const e of [[], "", 1, null]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Schema.decodeUnknownEffect(codec)({ e }))))
      }
    })
  )
})

// A description of a schema, so that schemas can be generated.
type Plan =
  | { readonly kind: "string" | "name" | "number" | "integer" | "boolean" | "literals" | "pattern" | "nothing" }
  | { readonly kind: "date" | "bigint" }
  | { readonly kind: "nullable" | "list" | "some" | "record" | "optional" | "map"; readonly of: Plan }
  | { readonly kind: "struct" | "tuple" | "union"; readonly first: Plan; readonly second: Plan }

const toSchema = (plan: Plan, number: Schema.Codec<number> = Schema.Number): Schema.Codec<any> => {
  switch (plan.kind) {
    case "string":
      return Schema.String
    case "name":
      return Schema.NonEmptyString
    case "pattern":
      return Schema.String.check(Schema.isPattern(/^[a-c]+$/))
    case "number":
      return number
    case "integer":
      return Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 9 }))
    case "boolean":
      return Schema.Boolean
    case "literals":
      return Schema.Literals(["a", "b", 1])
    case "nothing":
      return Schema.Struct({})
    case "date":
      return Schema.Date as Schema.Codec<any>
    case "bigint":
      return Schema.BigInt as Schema.Codec<any>
    case "nullable":
      return Schema.NullOr(toSchema(plan.of, number))
    case "list":
      return Schema.Array(toSchema(plan.of, number)).check(Schema.isMaxLength(3))
    case "some":
      return Schema.NonEmptyArray(toSchema(plan.of, number))
    case "record":
      return Schema.Record(Schema.String, toSchema(plan.of, number))
    case "map":
      // Generation would not know that the numbers in a declaration are finite on the wire.
      return Schema.ReadonlyMap(Schema.String, toSchema(plan.of, Schema.Finite)) as Schema.Codec<any>
    case "optional":
      return Schema.Struct({
        a: Schema.optional(toSchema(plan.of, number)),
        b: Schema.optionalKey(toSchema(plan.of, number))
      })
    case "struct":
      return Schema.Struct({ a: toSchema(plan.first, number), b: toSchema(plan.second, number) })
    case "tuple":
      return Schema.Tuple([toSchema(plan.first, number), Schema.optionalKey(toSchema(plan.second, number))])
    default:
      return Schema.Union([
        Schema.Struct({ _tag: Schema.Literal("A"), a: toSchema(plan.first, number) }),
        Schema.Struct({ _tag: Schema.Literal("B"), b: toSchema(plan.second, number) })
      ])
  }
}

const plans = (exact: boolean): Schema.Codec<Plan> => {
  const leaves = ["string", "name", "number", "integer", "boolean", "literals", "pattern", "nothing"] as const
  const self = Schema.suspend((): Schema.Codec<Plan> => Plan)
  const Plan: Schema.Codec<Plan> = Schema.Union([
    Schema.Struct({ kind: Schema.Literals(exact ? leaves : ([...leaves, "date", "bigint"] as const)) }),
    Schema.Struct({
      kind: Schema.Literals(["nullable", "list", "some", "record", "optional", ...(exact ? [] : (["map"] as const))]),
      of: self
    }),
    Schema.Struct({ kind: Schema.Literals(["struct", "tuple", "union"]), first: self, second: self })
  ])
  return Plan
}

// JSON can escape half a surrogate pair; the validator rejects such keys, but the decoder has no reason to.
const isUnicode = (wire: unknown) => !/\\ud[89a-f]/.test(JSON.stringify(wire))

const sample = (plan: Schema.Codec<Plan>) =>
  Arbitrary.schema(plan).pipe(
    Arbitrary.flatMap((plan) =>
      Arbitrary.schema(JsonSchema.codec(toSchema(plan))).pipe(
        Arbitrary.map((value): readonly [Plan, unknown] => [plan, value])
      )
    )
  )

/** A copy of `json` with the value at one place replaced, removed or added. */
const mutate = (json: unknown, at: number, replacement: unknown): unknown => {
  let place = 0
  const visit = (value: unknown): unknown => {
    if (place++ === at) return replacement
    if (Array.isArray(value)) return place++ === at ? [...value, replacement] : value.map(visit)
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value)
    if (place++ === at) return Object.fromEntries(entries.slice(1))
    return Object.fromEntries(entries.map(([key, inner]) => [key, visit(inner)]))
  }
  return visit(json)
}

describe("JsonSchema with generated schemas", () => {
  it.effect.prop(
    "JsonSchema.codec encodes values allowed by the advertised schema and reads them back",
    { sample: sample(plans(false)) },
    ({ sample: [plan, value] }) =>
      Effect.gen(function* () {
        const schema = toSchema(plan)
        const codec = JsonSchema.codec(schema)
        const wire: unknown = JSON.parse(JSON.stringify(yield* Schema.encodeEffect(codec)(value)))
        if (isUnicode(wire)) assert.deepStrictEqual(validator(schema)(wire), [])
        const again = yield* Schema.decodeUnknownEffect(codec)(wire)
        // Through text, because JSON has no -0.
        assert.deepStrictEqual(JSON.parse(JSON.stringify(yield* Schema.encodeEffect(codec)(again))), wire)
      }),
    { ...verifies("json-schema.valid"), arbitrary: { runs: 300, seed: 1 } }
  )

  it.effect.prop(
    "JsonSchema.codec decodes exactly the values that the advertised schema allows",
    {
      sample: sample(plans(true)),
      at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
      replacement: Schema.Literals(["", "a", "é", "null", true, 0, 1, 1.5, 99, "list", "object", "tagged"])
    },
    ({ at, replacement, sample: [plan, value] }) =>
      Effect.gen(function* () {
        const schema = toSchema(plan)
        const codec = JsonSchema.codec(schema)
        const wire = yield* Schema.encodeEffect(codec)(value)
        const others: Record<string, unknown> = {
          null: null,
          list: [1],
          object: { a: "x" },
          tagged: { _tag: "B", b: 1 }
        }
        const mutant = mutate(wire, at, String(replacement) in others ? others[String(replacement)] : replacement)
        if (!isUnicode(mutant)) return
        const violations = validator(schema)(mutant)
        const decoded = yield* Effect.exit(Schema.decodeUnknownEffect(codec)(mutant))
        assert.strictEqual(Exit.isSuccess(decoded), violations.length === 0, JSON.stringify({ mutant, violations }))
      }),
    { arbitrary: { runs: 1000, seed: 1 } }
  )
})

describe("JsonSchema.elicitation", () => {
  const Form = Schema.Struct({
    name: Schema.String.check(Schema.isMinLength(3), Schema.isMaxLength(9), Schema.isPattern(/^[a-z]+$/)).annotate({
      title: "Name",
      description: "Yours",
      default: "bob"
    }),
    mail: Schema.optional(Schema.String.annotate({ format: "email" })),
    age: Schema.Int.check(Schema.isGreaterThan(17), Schema.isLessThanOrEqualTo(120)),
    weight: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 1, maximum: 2.5 }))),
    count: Schema.Int,
    ok: Schema.Boolean.annotate({ default: false }),
    size: Schema.Literals(["s", "m"]).annotate({ default: "m" }),
    only: Schema.Literal("this"),
    colour: JsonSchema.titled({ "#F00": "Red", "#0F0": "Green" }).annotate({ title: "Colour", default: "#F00" }),
    named: Schema.Enum({ Up: "up", Down: "down" }),
    tags: Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMinLength(1), Schema.isMaxLength(2)),
    colours: Schema.Array(JsonSchema.titled({ "#F00": "Red", "#0F0": "Green" })),
    when: Schema.Date,
    site: Schema.URL
  })

  it("JsonSchema.elicitation covers the restricted schema of 2025-11-25", () => {
    const form = Result.getOrThrow(JsonSchema.elicitation(Form))
    assert.deepStrictEqual<unknown>(form.properties, {
      name: {
        type: "string",
        title: "Name",
        description: "Yours",
        default: "bob",
        minLength: 3,
        maxLength: 9,
        pattern: "^[a-z]+$"
      },
      mail: { type: "string", format: "email" },
      age: { type: "integer", minimum: 18, maximum: 120 },
      weight: { type: "number", minimum: 1, maximum: 2.5 },
      count: { type: "integer" },
      ok: { type: "boolean", default: false },
      size: { type: "string", enum: ["s", "m"], default: "m" },
      only: { type: "string", enum: ["this"] },
      colour: {
        type: "string",
        title: "Colour",
        default: "#F00",
        oneOf: [
          { const: "#F00", title: "Red" },
          { const: "#0F0", title: "Green" }
        ]
      },
      named: {
        type: "string",
        oneOf: [
          { const: "up", title: "Up" },
          { const: "down", title: "Down" }
        ]
      },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, maxItems: 2 },
      colours: {
        type: "array",
        items: {
          anyOf: [
            { const: "#F00", title: "Red" },
            { const: "#0F0", title: "Green" }
          ]
        }
      },
      when: { type: "string", format: "date-time" },
      site: { type: "string", format: "uri" }
    })
    assert.deepStrictEqual(form.required, [
      "name",
      "age",
      "count",
      "ok",
      "size",
      "only",
      "colour",
      "named",
      "tags",
      "colours",
      "when",
      "site"
    ])
    assert.deepStrictEqual(Object.keys(form), ["type", "properties", "required"])
  })

  it.effect("JsonSchema.elicitation asks for the fields read by the codec", () =>
    Effect.gen(function* () {
      const Short = Schema.Struct({
        when: Schema.Date,
        colour: JsonSchema.titled({ r: "Red" }),
        n: Schema.optional(Schema.Number)
      })
      const form = Result.getOrThrow(JsonSchema.elicitation(Short))
      const answer = { when: "2026-01-01T00:00:00Z", colour: "r" }
      assert.deepStrictEqual(Result.getOrThrow(JsonSchemaValidator.compile(form))(answer), [])
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(JsonSchema.codec(Short))(answer), {
        when: new Date("2026-01-01T00:00:00Z"),
        colour: "r"
      })
    })
  )

  it("JsonSchema.elicitation accepts named schemas for fields and items", () => {
    const Size = Schema.Literals(["s", "m"]).annotate({ identifier: "Size" })
    const form = Result.getOrThrow(JsonSchema.elicitation(Schema.Struct({ one: Size, some: Schema.Array(Size) })))
    assert.deepStrictEqual(form.properties, {
      one: { type: "string", enum: ["s", "m"] },
      some: { type: "array", items: { type: "string", enum: ["s", "m"] } }
    })
  })

  const refused: ReadonlyArray<readonly [what: string, schema: Schema.Constraint, field: string]> = [
    ["a nested struct", Schema.Struct({ x: Schema.Struct({ y: Schema.String }) }), "x"],
    ["a nullable field", Schema.Struct({ x: Schema.NullOr(Schema.String) }), "x"],
    ["an array of strings", Schema.Struct({ x: Schema.Array(Schema.String) }), "x"],
    ["literal numbers", Schema.Struct({ x: Schema.Literals([1, 2]) }), "x"],
    ["an exclusive number bound", Schema.Struct({ x: Schema.Number.check(Schema.isGreaterThan(0)) }), "x"],
    ["multiples", Schema.Struct({ x: Schema.Number.check(Schema.isMultipleOf(2)) }), "x"],
    ["an unknown format", Schema.Struct({ x: Schema.String.annotate({ format: "uuid" }) }), "x"],
    ["a default of the wrong type", Schema.Struct({ x: Schema.Int.annotate({ default: "1" as never }) }), "x"],
    ["anything", Schema.Struct({ ok: Schema.String, x: Schema.Unknown }), "x"],
    ["a field without a JSON form", Schema.Struct({ ok: Schema.String, x: Schema.instanceOf(RegExp) }), "x"],
    ["a string at the root", Schema.String, ""],
    ["a record", Schema.Record(Schema.String, Schema.String), ""],
    [
      "a union of structs",
      Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })]),
      ""
    ],
    ["symbol keys", Schema.Struct({ [Symbol.for("s")]: Schema.String }), ""]
  ]
  for (const [what, schema, field] of refused) {
    it(`JsonSchema.elicitation rejects ${what} with a typed error that names the field`, () => {
      const error = Option.getOrThrow(Result.getFailure(JsonSchema.elicitation(schema)))
      assert.strictEqual(error._tag, "InvalidElicitationSchema")
      assert.strictEqual(error.field, field)
      assert.isNotEmpty(error.reason)
    })
  }
})
