/** The codec of values that a JSON Schema describes: they are validated, not decoded. */
import { check as checkSchema } from "@effect-mcp/protocol/internal/PreparedSchema"
import type * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { compile, type Validator } from "@effect-mcp/protocol/JsonSchemaValidator"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type DescribedCodec, InvalidValue } from "./ValueCodec.ts"

/** Compiles the schema when a value is first validated. Throws for a schema that cannot be compiled. */
export const rawCodec = (jsonSchema: JsonSchema.JsonObject): DescribedCodec<JsonSchema.JsonObject> => {
  checkSchema(jsonSchema)
  let validator: Validator | undefined
  const code = (value: unknown): Effect.Effect<JsonSchema.JsonObject, InvalidValue> =>
    Effect.suspend(() => {
      validator ??= Result.getOrThrow(compile(jsonSchema))
      const [error] = validator(value)
      if (error !== undefined) return Effect.fail(new InvalidValue({ message: `${error.path}: ${error.message}` }))
      return isJsonObject(value)
        ? Effect.succeed(value)
        : Effect.fail(new InvalidValue({ message: "Expected an object" }))
    })
  return { jsonSchema, decode: code, encode: code }
}
