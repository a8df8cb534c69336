/** A client reads the annotations of a schema without its JSON Schema. Both ways must agree. */
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import { headerAnnotations } from "@effect-mcp/protocol/internal/toolSchema"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const header = { "x-mcp-header": "Region" }

interface Node {
  readonly place: string
  readonly next?: Node
}
const node: Schema.Codec<Node> = Schema.Struct({
  place: Schema.String.annotate(header),
  next: Schema.optionalKey(Schema.suspend(() => node))
})

const places = ({ params }: HeaderParams.Parsed) => params.map(({ name, path }) => ({ name, path }))

const nested = Schema.Struct({ deep: Schema.Struct({ place: Schema.String.annotate(header) }) })
const few = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const twice = {
  first: Schema.Boolean.annotate(header),
  second: Schema.Int.pipe(Schema.annotateKey({ "x-mcp-header": "Other" }))
}

describe("Schema header annotations", () => {
  it.each([
    ["a string", Schema.Struct({ place: Schema.String.annotate(header) }), [["place"]]],
    ["a key", Schema.Struct({ place: Schema.String.pipe(Schema.annotateKey(header)) }), [["place"]]],
    ["two arguments", Schema.Struct(twice), [["first"], ["second"]]],
    [
      "a checked string",
      Schema.Struct({ place: Schema.String.annotate(header).check(Schema.isNonEmpty()) }),
      [["place"]]
    ],
    ["an integer", Schema.Struct({ place: Schema.Int.annotate(header) }), [["place"]]],
    ["an integer with bounds", Schema.Struct({ place: few.annotate({ ...header, description: "Few" }) }), [["place"]]],
    [
      "a string annotated after its check",
      Schema.Struct({ place: Schema.NonEmptyString.annotate(header) }),
      [["place"]]
    ],
    ["an optional key", Schema.Struct({ place: Schema.optionalKey(Schema.String.annotate(header)) }), [["place"]]],
    ["an optional value", Schema.Struct({ place: Schema.optional(Schema.String.annotate(header)) }), [["place"]]],
    ["choices", Schema.Struct({ place: Schema.Literals(["a", "b"]).annotate(header) }), [["place"]]],
    ["a date, which is a string on the wire", Schema.Struct({ place: Schema.Date.annotate(header) }), [["place"]]],
    ["a field of a nested object", nested, [["deep", "place"]]],
    ["a suspended string", Schema.Struct({ place: Schema.suspend(() => Schema.String.annotate(header)) }), [["place"]]],
    ["a suspended object", Schema.Struct({ nested: Schema.suspend(() => nested) }), [["nested", "deep", "place"]]],
    ["a recursive object", node, [["place"]]],
    [
      "a key whose value has another annotation",
      Schema.Struct({ place: Schema.String.annotate({ "x-mcp-header": "Other" }).pipe(Schema.annotateKey(header)) }),
      [["place"]]
    ],
    ["no argument", Schema.Struct({ place: Schema.String, deep: Schema.Struct({}) }), []],
    ["an array member", Schema.Struct({ all: Schema.Array(Schema.String.annotate(header)) }), []]
  ] as const)("Header annotations match the JSON Schema: %s", (_title, schema, paths) => {
    const read = HeaderParams.parse(headerAnnotations(schema))
    assert.deepStrictEqual<ReadonlyArray<ReadonlyArray<string>>>(
      read.params.map(({ path }) => path),
      paths
    )
    assert.deepStrictEqual(places(read), places(HeaderParams.parse(JsonSchema.input(schema))))
  })
})
