import { Schema } from "effect"
import * as J from "../packages/protocol/src/JsonSchema.ts"
const p = (f) => {
  try {
    return JSON.stringify(f())
  } catch (e) {
    return "ERR " + e.message.replaceAll("\n", " | ")
  }
}
class P extends Schema.Class("P")({ a: Schema.String }, { description: "A P" }) {}
console.log(
  p(() => J.fromSchema(Schema.Struct({ p: P.annotate({ description: "buyer" }), q: P, r: Schema.optional(P) })))
)
const S = Schema.Struct({
  a: Schema.optional(Schema.Date),
  b: Schema.optional(Schema.Number),
  e: Schema.Struct({}),
  d: Schema.String.pipe(Schema.withDecodingDefault(() => "x")),
  u: Schema.UndefinedOr(Schema.String)
})
const c = J.codec(S)
console.log(p(() => J.fromSchema(S)))
const enc = Schema.encodeUnknownSync(c),
  dec = Schema.decodeUnknownSync(c)
console.log(
  p(() => enc({ a: undefined, b: undefined, e: {}, d: "q", u: undefined })),
  p(() => enc({ a: new Date(0), b: 1, e: {}, d: "q", u: "u" })),
  p(() => enc({ b: Infinity, e: {}, d: "q", u: "u" }))
)
console.log(
  p(() => dec({ e: { x: 1 }, u: null })),
  p(() => dec({ a: null, e: {}, u: null })),
  p(() => dec({ b: "Infinity", e: {}, u: null })),
  p(() => dec({ e: [], u: null })),
  p(() => dec({ e: 1, u: null })),
  p(() => dec([])),
  p(() => dec({ a: "2020-01-01T00:00:00Z", b: 3, e: {}, u: "s" }))
)
console.log(p(() => Schema.decodeUnknownSync(J.codec(Schema.Struct({ a: Schema.optionalKey(Schema.String) })))([])))
console.log(
  p(() => J.input(Schema.Union([Schema.Struct({ a: Schema.String }), P]))),
  p(() => J.input(Schema.String)),
  p(() => J.input(Schema.Struct({}))),
  p(() => J.input(Schema.Record(Schema.String, Schema.Json))),
  p(() => J.input(Schema.Unknown)),
  p(() => J.output(Schema.Array(Schema.Number)))
)
console.log(
  p(() =>
    J.fromSchema(
      Schema.Struct({
        d: Schema.Date.annotate({ examples: [new Date(0)], default: new Date(1), title: "T" }).pipe(
          Schema.annotateKey({ description: "kd" })
        ),
        j: Schema.Json,
        tup: Schema.optionalKey(Schema.Tuple([Schema.Number, Schema.optionalKey(Schema.String)]))
      })
    )
  )
)
console.log(
  p(() =>
    J.elicitation(
      Schema.Struct({
        name: Schema.String.check(Schema.isMinLength(3), Schema.isMaxLength(9)).annotate({
          title: "Name",
          default: "bob"
        }),
        age: Schema.Int.check(Schema.isGreaterThan(17)),
        n: Schema.optional(Schema.Number.check(Schema.isBetween({ minimum: 1, maximum: 2 }))),
        ok: Schema.Boolean,
        c: Schema.Literals(["a", "b"]),
        t: J.titled({ "#f00": "Red", "#0f0": "Green" }).annotate({ default: "#f00", description: "Colour" }),
        m: Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMinLength(1)),
        mt: Schema.Array(J.titled({ x: "X", y: "Y" })),
        when: Schema.Date,
        url: Schema.URL,
        one: Schema.Literal("only"),
        e: Schema.Enum({ A: "a", B: "b" }),
        mail: Schema.String.annotate({ format: "email" })
      })
    )
  )
)
for (const f of [
  Schema.Struct({ x: Schema.Struct({}) }),
  Schema.Struct({ x: Schema.NullOr(Schema.String) }),
  Schema.Struct({ x: Schema.Array(Schema.String) }),
  Schema.Struct({ x: Schema.Literal(3) }),
  Schema.Struct({ x: Schema.Number.check(Schema.isGreaterThan(0)) }),
  Schema.Struct({ x: Schema.String.annotate({ format: "uuid" }) }),
  Schema.String,
  Schema.Struct({ x: Schema.Unknown }),
  Schema.Union([Schema.Struct({}), Schema.Struct({ a: Schema.String })]),
  Schema.Record(Schema.String, Schema.String),
  Schema.Struct({ x: Schema.Int.annotate({ default: "no" }) })
]) {
  const r = J.elicitation(f)
  console.log(r._tag, r.failure?.message)
}
