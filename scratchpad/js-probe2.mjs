import { Schema, Duration, Option } from "effect"
import * as J from "../packages/protocol/src/JsonSchema.ts"
const show = (n, s) => {
  try {
    console.log(n, JSON.stringify(J.fromSchema(s)))
  } catch (e) {
    console.log(n, "THROW", e.message)
  }
}
show("Date", Schema.Date.annotate({ description: "when" }))
show("DateTimeUtc", Schema.DateTimeUtc)
show("DateTimeUtcFromString", Schema.DateTimeUtcFromString)
show("BigInt", Schema.BigInt)
show("FFS", Schema.FiniteFromString.annotate({ description: "d" }))
show("Number", Schema.Number.annotate({ description: "d" }))
show("NumberCheck", Schema.Number.check(Schema.isGreaterThan(0)))
show("Finite", Schema.Finite.annotate({ description: "d" }))
show("Int", Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })))
show(
  "Opt",
  Schema.Struct({
    a: Schema.optional(Schema.String.annotate({ description: "in" })),
    b: Schema.optional(Schema.Number).annotate({ description: "x" }),
    c: Schema.optionalKey(Schema.String),
    d: Schema.UndefinedOr(Schema.String),
    e: Schema.String.pipe(Schema.annotateKey({ description: "key" })),
    f: Schema.optional(Schema.String).pipe(Schema.annotateKey({ description: "kk" }))
  })
)
class P extends Schema.Class("P")({ a: Schema.String }, { description: "A P" }) {}
show("Class", P)
show("ClassNested", Schema.Struct({ p: P, q: P }))
show("Union", Schema.Union([Schema.Struct({ t: Schema.Literal("a") }), Schema.Struct({ t: Schema.Literal("b") })]))
show("Tagged", Schema.TaggedUnion({ A: { x: Schema.String }, B: { y: Schema.Finite } }))
show("Rec", Schema.Record(Schema.String, Schema.Finite))
show(
  "StructWithRest",
  Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)])
)
show("Lits", Schema.Literals(["a", "b"]))
show("Null", Schema.NullOr(Schema.String))
show("Unknown", Schema.Unknown)
show("Json", Schema.Json)
show("Empty", Schema.Struct({}))
show("Void", Schema.Void)
show("Option", Schema.Option(Schema.Number))
show("Duration", Schema.Duration)
show("Uint8", Schema.Uint8Array)
show("URL", Schema.URL)
show("Default", Schema.Struct({ a: Schema.String.pipe(Schema.withDecodingDefault(() => "x")) }))
show("DefaultKey", Schema.Struct({ a: Schema.Finite.pipe(Schema.withDecodingDefaultKey(() => 3)) }))
const Tree = Schema.Struct({ v: Schema.Number, kids: Schema.Array(Schema.suspend(() => Tree)) }).annotate({
  identifier: "Tree"
})
show("Tree", Tree)
const Tree2 = Schema.Struct({ v: Schema.Number, kids: Schema.Array(Schema.suspend(() => Tree2)) })
show("Tree2", Tree2)
show("brand", Schema.String.pipe(Schema.brand("X")))
show(
  "x-",
  Schema.Struct({
    a: Schema.String.annotate({ "x-mcp-header": "A", examples: ["q"], default: "z", format: "email", title: "T" })
  })
)
show("enum", Schema.Enum({ A: "a", B: "b" }))
show("check", Schema.String.check(Schema.isMinLength(2), Schema.isPattern(/^a/)))
show("nonempty", Schema.NonEmptyString)
show("trim", Schema.Trim)
show("tuple", Schema.Tuple([Schema.String, Schema.Number]))
show("Map", Schema.ReadonlyMap(Schema.String, Schema.Number))
show(
  "oneOf",
  Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })], { mode: "oneOf" })
)
show("sym", Schema.Struct({ [Symbol.for("x")]: Schema.String }))
show("Any", Schema.Any)
show("never", Schema.Never)
show("decl", Schema.instanceOf(Map))
console.log(
  Schema.toStandardJSONSchemaV1 &&
    Object.keys(Schema)
      .filter((k) => /optional|Key|default/i.test(k))
      .join()
)
