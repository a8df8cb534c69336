/** A codec for values described by a JSON Schema. They are validated but not decoded. */
import { check as checkSchema } from "@effect-mcp/protocol/internal/toolSchema"
import type * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type { Validator } from "@effect-mcp/protocol/JsonSchemaValidator"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type DescribedCodec, InvalidValue } from "./ValueCodec.ts"

/** Imported when the first value is validated, because the interpreter adds 8 KiB to a bundle and most programs use Effect schemas. */
const interpreter = () => import("@effect-mcp/protocol/JsonSchemaValidator")

/** Creates the codec. Throws if the schema doesn't compile. */
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
