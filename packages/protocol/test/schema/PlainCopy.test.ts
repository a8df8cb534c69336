import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema, SchemaTransformation } from "effect"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as PlainCopy from "../../src/schema/PlainCopy.ts"

type AnyCodec = Schema.Codec<unknown, unknown>

const leaves: ReadonlyArray<AnyCodec> = [
  Schema.String,
  Schema.Boolean,
  Schema.Number,
  Schema.Finite.annotate({ title: "T" }),
  Schema.Int,
  Schema.Null,
  Schema.Literals([1, "b", true]),
  Schema.String.check(Schema.isMinLength(2)),
  Schema.Unknown,
  JsonObject
]

const wrap = (schema: AnyCodec, how: number): AnyCodec => {
  switch (how) {
    case 0:
      return Schema.Array(schema)
    case 1:
      return Schema.NullOr(schema)
    case 2:
      return Schema.Struct({ b: Schema.optionalKey(schema), a: schema })
    case 3:
      return Schema.Record(Schema.String, schema)
    case 4:
      return Schema.StructWithRest(Schema.Struct({ a: Schema.optionalKey(Schema.String) }), [
        Schema.Record(Schema.String, Schema.Unknown)
      ])
    default:
      return Schema.Union([
        Schema.Struct({ tag: Schema.Literal("x"), a: schema }),
        Schema.Struct({ tag: Schema.Literal("y"), b: schema }),
        schema
      ])
  }
}

/** Schemas with values for them. */
const schemas = leaves.flatMap((leaf) => [0, 1, 2, 3, 4, 5].map((how) => wrap(leaf, how)))
const nested = schemas.flatMap((schema) => [2, 5].map((how) => wrap(schema, how)))
const own: unknown = JSON.parse(`{"__proto__":1,"a":"text"}`)
const cycle: { a?: unknown } = {}
cycle.a = cycle

/** `JSON.stringify` writes the result of the method, although the method is not an enumerable field. */
const hidden = Object.defineProperty({ a: "text" }, "toJSON", { value: () => ({ a: "other" }) })

/** Wrong values, for the whole or for a field. */
const wrong: ReadonlyArray<unknown> = [
  undefined,
  null,
  0,
  1.5,
  -0,
  Number.NaN,
  Infinity,
  1n,
  "",
  "text",
  true,
  Symbol("a"),
  () => 1,
  [],
  [undefined],
  [1, "a"],
  {},
  { a: undefined },
  { a: "text", b: 1, c: [] },
  { tag: "y", b: null },
  new Date(0),
  own,
  cycle,
  Object.assign(Object.create({ b: "of its prototype" }), { a: "text" }),
  Object.create(null),
  { a: hidden },
  hidden
]

/** The value with each of its parts replaced or removed. */
const damaged = (value: unknown, depth = 2): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null || depth === 0) return wrong
  if (Array.isArray(value)) return value.flatMap((item, i) => damaged(item, depth - 1).map((d) => value.with(i, d)))
  return Object.entries(value).flatMap(([key, field]) => {
    const { [key]: _gone, ...rest } = { ...value } as Record<string, unknown>
    return [rest, { ...value, more: 1 }, ...damaged(field, depth - 1).map((d) => ({ ...value, [key]: d }))]
  })
}

/** A text that depends on the order of keys. */
const shown = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (part === undefined ? "undefined" : Object.is(part, -0) ? "-0" : part))

/** Returns true if there is a copy. The schema itself must agree in both directions. */
const compare = (schema: AnyCodec, value: unknown): boolean => {
  const copied = PlainCopy.of(schema.ast)?.(value)
  const codec = JsonSchema.codec(schema)
  for (const exit of [
    Effect.runSyncExit(Schema.decodeUnknownEffect(codec)(value)),
    Effect.runSyncExit(Schema.encodeUnknownEffect(codec)(value))
  ]) {
    if (copied === PlainCopy.none) assert.isTrue(Exit.isFailure(exit), "The schema takes what has no copy")
    else assert.strictEqual(shown(copied), Exit.isSuccess(exit) ? shown(exit.value) : "refused")
  }
  return copied !== PlainCopy.none
}

const options = { arbitrary: { runs: 4, size: 4, seed: 20261123 } }

describe("Copies of plain values", () => {
  for (const [i, schema] of [...schemas, ...nested].entries()) {
    it.prop(
      `The copy made by schema ${i} equals the value that the schema reads and writes`,
      [Arbitrary.schema(schema)],
      ([value]) => {
        compare(schema, value)
        for (const other of [...wrong, ...damaged(value)]) compare(schema, other)
      },
      options
    )
  }

  it("A valid value and its members are copied", () => {
    const Task = Schema.Union([
      Schema.Struct({ id: Schema.String, ttl: Schema.NullOr(Schema.Finite), status: Schema.Literal("working") }),
      Schema.Struct({ id: Schema.String, status: Schema.Literal("completed"), result: JsonObject })
    ])
    assert.isTrue(compare(Task, { id: "a", ttl: null, status: "working" }))
    assert.isTrue(compare(Task, { id: "a", status: "completed", result: { content: [{ type: "text", text: "b" }] } }))
    assert.isFalse(compare(Task, { id: "a", status: "completed", result: { content: [undefined] } }))
  })

  it.each<readonly [string, Schema.Constraint]>([
    ["a transformation", Schema.Struct({ a: Schema.NumberFromString })],
    [
      "a key transformation",
      Schema.Record(Schema.String.pipe(Schema.decode(SchemaTransformation.snakeToCamel())), Schema.Finite)
    ],
    [
      "a record that its fields must also match",
      Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [
        Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(3)))
      ])
    ],
    ["a class", Schema.Struct({ a: Schema.Date })],
    ["recursion", Schema.Struct({ a: Schema.suspend(() => Schema.String) })],
    ["a default", Schema.Struct({ a: Schema.optional(Schema.String) })],
    ["a whole-value check", Schema.Struct({ a: Schema.String }).check(Schema.makeFilter(() => true))],
    ["exactly one matching member", Schema.Union([Schema.String, Schema.Null], { mode: "oneOf" })],
    ["a tuple", Schema.Tuple([Schema.String])],
    ["template literal keys", Schema.Record(Schema.TemplateLiteral(["a", Schema.String]), Schema.String)],
    ["an annotation that is not an identifier", Schema.Struct({ a: Schema.String.annotate({ "x-mcp-header": "A" }) })]
  ])("A schema with %s falls back to its parser", (_title, schema) => {
    assert.isUndefined(PlainCopy.of(schema.ast))
  })
})
