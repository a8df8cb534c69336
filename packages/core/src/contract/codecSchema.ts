/** Generates JSON Schemas for codecs. A separate module, so that only code that lists JSON Schemas loads the generator. */
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type * as Schema from "effect/Schema"
import type { AnyValueCodec } from "./ValueCodec.ts"

/**
 * Returns a codec's JSON Schema. It is generated immediately, or on first read for a plain schema, which is guaranteed to have one. Throws
 * `InvalidToolSchema` with `where` if JSON Schema cannot express the schema.
 */
export const codecSchema = (
  where: string,
  codec: AnyValueCodec,
  make: (schema: Schema.Constraint) => JsonSchema.JsonObject = JsonSchema.fromSchema
): (() => JsonSchema.JsonObject) => {
  const { jsonSchema, schema } = codec
  if (jsonSchema !== undefined) return () => jsonSchema
  if (schema === undefined) {
    const reason = "The codec has no JSON Schema. Add a jsonSchema"
    throw new JsonSchema.InvalidToolSchema({ where, reason })
  }
  return JsonSchema.later(schema, () => {
    try {
      return make(schema)
    } catch (cause) {
      if (!(cause instanceof JsonSchema.InvalidToolSchema)) throw cause
      throw new JsonSchema.InvalidToolSchema({ where, reason: cause.reason })
    }
  })
}
