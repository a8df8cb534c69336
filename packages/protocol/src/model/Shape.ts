/**
 * The two combinators of the model: `struct` and `verbatim`.
 *
 * A model schema names the known fields. Every codec of a revision applies `verbatim`: it checks a value and passes on the same object.
 * So unknown fields, the order of keys and the identity survive decoding and encoding, without a copy.
 *
 * *Gotcha*: a model schema used alone is an ordinary `Schema.Struct`, which strips unknown keys; wrap it in `verbatim` to keep them.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Check from "../internal/Check.ts"
import * as Json from "../internal/JsonObject.ts"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"

export type JsonObject = Json.JsonObject
/** Whether it is an object of JSON: no array, and not null. */
export const isJsonObject = Json.isJsonObject

/** Any JSON object, unread: one type test, however large it is. */
export const JsonObject: Schema.declare<JsonObject> = Schema.declare<JsonObject>(isJsonObject, {
  identifier: "JsonObject",
  expected: "a JSON object",
  [Check.predicate]: isJsonObject,
  toCodec: () =>
    Schema.link<JsonObject>()(
      Schema.Record(Schema.String, Schema.Json),
      SchemaTransformation.passthrough({ strict: false })
    )
})

/** A struct with a name, by which the downgrade table and error messages identify it. */
export const struct = <const Fields extends Schema.Struct.Fields>(
  identifier: string,
  fields: Fields
): Schema.Struct<Fields> => Schema.Struct(fields).annotate({ identifier })

/** The schema that `verbatim` makes; its type parameter is the schema that it checks. */
export type Verbatim<T> = Schema.declareConstructor<T, T, readonly [Schema.Codec<T>]>

/** Checks a value and passes on the same object. Only for schemas that do not transform. */
export const verbatim = <T>(schema: Schema.Codec<T>): Verbatim<T> => {
  // The first two are needed only for wrong values and for codecs inside of others.
  const is = lazy(() => Schema.is(schema))
  const explain = lazy(() => SchemaParser.decodeUnknownEffect(schema))
  const check = lazy(() => Check.compile(schema.ast))
  const codec = Schema.declareConstructor<T>()([schema], () => (input, self, options) => {
    const isT = is()
    if (isT(input)) return Effect.succeed(input)
    return Effect.andThen(explain()(input, options), Effect.fail(new SchemaIssue.InvalidType(self, input, options)))
  })
  const same = (value: unknown): unknown => (check()(value) ? value : SchemaBypass.none)
  return SchemaBypass.attach(codec, { decode: same, encode: same })
}
