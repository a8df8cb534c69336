/** The JSON Schemas of codecs. A module of its own: what no server lists needs no maker of JSON Schemas. */
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type * as Schema from "effect/Schema"
import type { AnyValueCodec } from "./ValueCodec.ts"

/**
 * The JSON Schema of a codec, made at once, or when it is first read where a plain schema makes certain that there is one. Throws
 * `InvalidToolSchema` with `where` for a schema that JSON Schema cannot express.
 */
export const codecSchema = (
  where: string,
  codec: AnyValueCodec,
  make: (schema: Schema.Constraint) => JsonSchema.JsonObject = JsonSchema.fromSchema
): (() => JsonSchema.JsonObject) => {
  const { jsonSchema, schema } = codec
  if (jsonSchema !== undefined) return () => jsonSchema
  if (schema === undefined) {
    const reason = "Its codec has neither a jsonSchema nor the Effect Schema that it is made of. Add a jsonSchema"
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
