/**
 * The two combinators that the model is built from: `struct` and `verbatim`.
 *
 * A model schema lists the known fields. Every codec applies `verbatim`, which checks a value and returns the same
 * object. Unknown fields, key order and object identity therefore survive decoding and encoding without a copy.
 *
 * *Gotcha*: on its own, a model schema is an ordinary `Schema.Struct`, which strips unknown keys. Wrap it in `verbatim`
 * to keep them.
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
/** True for a JSON object, as opposed to an array or null. */
export const isJsonObject = Json.isJsonObject

/** Any JSON object. Only its type is checked, which takes the same time however large it is. */
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

/** A struct with a name, which identifies it in the downgrade table and in error messages. */
export const struct = <const Fields extends Schema.Struct.Fields>(
  identifier: string,
  fields: Fields
): Schema.Struct<Fields> => Schema.Struct(fields).annotate({ identifier })

/** The schema `verbatim` creates. Its type parameter is the type of the checked value. */
export type Verbatim<T> = Schema.declareConstructor<T, T, readonly [Schema.Codec<T>]>

/** Checks a value and returns the same object. Only for schemas without transformations. */
export const verbatim = <T>(schema: Schema.Codec<T>): Verbatim<T> => {
  // The first two are only needed for invalid values, and for codecs nested in other codecs.
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
