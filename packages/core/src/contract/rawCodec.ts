/** The codec of values that a JSON Schema describes: they are validated, not decoded. */
import { check as checkSchema } from "@effect-mcp/protocol/internal/PreparedSchema"
import type * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type { Validator } from "@effect-mcp/protocol/JsonSchemaValidator"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type DescribedCodec, InvalidValue } from "./ValueCodec.ts"

/** Imported when a value is first validated: the interpreter is 8 KiB of a bundle, and most programs describe values by Effect schemas. */
const interpreter = () => import("@effect-mcp/protocol/JsonSchemaValidator")

/** Throws for a schema that cannot be compiled. */
export const rawCodec = (jsonSchema: JsonSchema.JsonObject): DescribedCodec<JsonSchema.JsonObject> => {
  checkSchema(jsonSchema)
  let validator: Validator | undefined
  const check = (value: unknown, validate: Validator): Effect.Effect<JsonSchema.JsonObject, InvalidValue> => {
    const [error] = validate(value)
    if (error !== undefined) return Effect.fail(new InvalidValue({ message: `${error.path}: ${error.message}` }))
    return isJsonObject(value)
      ? Effect.succeed(value)
      : Effect.fail(new InvalidValue({ message: "Expected an object" }))
  }
  const load = Effect.map(Effect.promise(interpreter), ({ compile }) => {
    validator ??= Result.getOrThrow(compile(jsonSchema))
    return validator
  })
  const code = (value: unknown) =>
    validator === undefined ? Effect.flatMap(load, (validate) => check(value, validate)) : check(value, validator)
  return { jsonSchema, decode: code, encode: code }
}
