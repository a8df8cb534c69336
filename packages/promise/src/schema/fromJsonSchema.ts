/** Converts JSON Schemas to Standard Schemas, or adds one to a Standard Schema. */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import * as Result from "effect/Result"
import type { JsonObject } from "../model/Results.ts"
import { validateOnce } from "./validateOnce.ts"

/** Splits a JSON Pointer into its keys. */
const pathOf = (pointer: string): ReadonlyArray<string> =>
  pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))

/**
 * Creates a Standard Schema from a JSON Schema (2020-12, or draft-07 if `$schema` says so). The JSON Schema is advertised as it is, unless a
 * host would refuse it (see `portability`). Values are validated but not transformed, and `A` is the type the program uses for them. Throws
 * if the schema can't be used, for example because it references another document.
 *
 * @example
 * ```ts
 * import { fromJsonSchema } from "@effect-mcp/promise"
 *
 * const City = fromJsonSchema<{ city: string }>({
 *   type: "object",
 *   properties: { city: { type: "string" } },
 *   required: ["city"]
 * })
 *
 * console.log(JSON.stringify(await City["~standard"].validate({ city: "Oslo" }))) // => {"value":{"city":"Oslo"}}
 * ```
 */
export const fromJsonSchema = <A>(schema: JsonObject): StandardSchemaV1<A> & StandardJSONSchemaV1<A> => {
  const compiled = JsonSchemaValidator.compile(schema)
  if (Result.isFailure(compiled)) throw new TypeError(compiled.failure.message)
  const violations = compiled.success
  const validate = (value: unknown): StandardSchemaV1.Result<A> => {
    const found = violations(value)
    return found.length === 0
      ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the program says that the schema describes `A`
        { value: value as A }
      : { issues: found.map(({ message, path }) => ({ message, path: pathOf(path) })) }
  }
  const jsonSchema = () => ({ ...schema })
  return {
    "~standard": { version: 1, vendor: "json-schema", validate, jsonSchema: { input: jsonSchema, output: jsonSchema } }
  }
}

/**
 * Adds a JSON Schema to a Standard Schema, for libraries that keep the two apart (zod/mini: `z.toJSONSchema(schema)`). Values are validated
 * by the Standard Schema, and the JSON Schema is advertised as it is, unless a host would refuse it (see `portability`).
 *
 * @example
 * ```ts
 * import { McpServer, withJsonSchema } from "@effect-mcp/promise"
 * import * as z from "zod/mini"
 *
 * const City = z.object({ city: z.string() })
 * const server = new McpServer({ name: "weather", version: "1.0.0" })
 *
 * const input = withJsonSchema(City, z.toJSONSchema(City))
 * server.tool("weather", { description: "The weather of a city", input }, ({ city }) => `Sunny in ${city}`)
 * ```
 */
export const withJsonSchema = <I, O>(
  schema: StandardSchemaV1<I, O>,
  document: JsonObject
): StandardSchemaV1<I, O> & StandardJSONSchemaV1<I, O> => {
  const { $schema: _same, ...advertised } = document
  const converter = () => advertised
  const { vendor, version } = schema["~standard"]
  const jsonSchema = { input: converter, output: converter }
  return { "~standard": { vendor, version, validate: validateOnce(schema), jsonSchema } }
}
