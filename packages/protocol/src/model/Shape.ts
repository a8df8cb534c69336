/**
 * The two combinators the model is written in.
 *
 * A model schema says which fields we know; it does not list the ones we do not. Values are checked and then passed on *as they
 * are*, so unknown fields, key order and even object identity survive a decode and an encode (`verbatim`, applied by every codec
 * of a revision). It also is the cheapest way: nothing is copied.
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

/** A struct with a name; the name is how the downgrade table and error messages speak of it. */
export const struct = <const Fields extends Schema.Struct.Fields>(
  identifier: string,
  fields: Fields
): Schema.Struct<Fields> => Schema.Struct(fields).annotate({ identifier })

/** What `verbatim` makes; its one type parameter is the schema it checks. */
export type Verbatim<T> = Schema.declareConstructor<T, T, readonly [Schema.Codec<T>]>

/** Checks a value and passes on the same object. Only for schemas that do not transform. */
export const verbatim = <T>(schema: Schema.Codec<T>): Verbatim<T> => {
  // Made when they are needed: the first two only for values that are wrong, or for codecs that are part of another.
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
