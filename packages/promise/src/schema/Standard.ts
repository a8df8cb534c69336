/**
 * Turns schemas from any library into codecs. Values are validated with Standard Schema (https://standardschema.dev), and the advertised
 * JSON Schema comes from Standard JSON Schema. Effect schemas are decoded through their own JSON form.
 *
 * A schema without a JSON Schema is rejected when the program registers it. The error names the library and explains what to do.
 */
import { InvalidValue, type DescribedCodec } from "@effect-mcp/core/Tool"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { isThenable } from "../boundary.ts"
import { validateOnce } from "./validateOnce.ts"

/**
 * Direction of a value: `input` values go into a handler, which receives the schema's output type. `output` values come from a handler,
 * which returns the schema's input type.
 */
export type Side = "input" | "output"

/** A schema that implements both interfaces. */
type Complete = StandardSchemaV1 & StandardJSONSchemaV1

const expected =
  "zod 4.2 or newer, arktype 2.1.28 or newer, valibot with toStandardJsonSchema from @valibot/to-json-schema, Effect with Schema.toStandardSchemaV1, or another library with withJsonSchema"

const isStandard = (u: unknown): u is StandardSchemaV1 =>
  ((typeof u === "object" && u !== null) || typeof u === "function") && "~standard" in u

const isComplete = (schema: StandardSchemaV1): schema is Complete => {
  const props: object = schema["~standard"]
  return "jsonSchema" in props && isJsonObject(props.jsonSchema) && typeof props.jsonSchema["input"] === "function"
}

/** Zod 3 before version 3.24 doesn't implement Standard Schema. */
const isZod3 = (u: object): boolean => "_def" in u && !("_zod" in u) && "safeParse" in u

/** Error message for a schema that lacks one of the interfaces. */
const mistake = (given: unknown): string => {
  if (!isStandard(given)) {
    const kind =
      typeof given === "object" && given !== null && isZod3(given)
        ? "a zod 3 schema"
        : `a value of type ${kindOf(given)}`
    return `must be a Standard Schema with JSON Schema support, but is ${kind}. Use ${expected}`
  }
  const { vendor } = given["~standard"]
  const advice: { readonly [vendor: string]: string } = {
    zod: isZod3(given)
      ? 'Install zod 4.2 or newer and import it from "zod"'
      : "Use zod 4.2 or newer, or with zod/mini pass withJsonSchema(schema, z.toJSONSchema(schema))",
    valibot: "Wrap it with toStandardJsonSchema(schema) from @valibot/to-json-schema"
  }
  const library = vendor === "zod" && isZod3(given) ? "zod 3" : vendor
  return `is a schema from ${library} without JSON Schema support. ${advice[vendor] ?? `Use ${expected}`}`
}

const kindOf = (given: unknown): string => (given === null ? "null" : Array.isArray(given) ? "array" : typeof given)

/** Throws unless the schema implements both interfaces. */
const complete = (where: string, given: unknown): Complete => {
  if (isStandard(given) && isComplete(given)) return given
  throw new TypeError(`${where} ${mistake(given)}`)
}

/** Returns the document to advertise: 2020-12, or draft-07 if the library supports nothing newer. */
const documentOf = (where: string, { "~standard": { jsonSchema } }: Complete, side: Side): JsonSchema.JsonObject => {
  const make = (target: StandardJSONSchemaV1.Target) => jsonSchema[side]({ target })
  try {
    const { $schema: _same, ...document } = make("draft-2020-12")
    return document
  } catch (cause) {
    try {
      return make("draft-07")
    } catch {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new TypeError(
        `${where} cannot be converted to JSON Schema: ${why}. Use only types that JSON can represent`,
        { cause }
      )
    }
  }
}

const place = (path: StandardSchemaV1.Issue["path"]): string => {
  if (path === undefined || path.length === 0) return ""
  const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment))
  return ` at ${JSON.stringify(keys.map((key) => (typeof key === "number" ? key : String(key))))}`
}

/** Maximum number of issues reported for one value. */
const maxIssues = 10

/** Returns the error message for an invalid value, including its path. */
export const described = (issues: ReadonlyArray<StandardSchemaV1.Issue>): string =>
  issues
    .slice(0, maxIssues)
    .map(({ message, path }) => message + place(path))
    .join("; ")

const invalid = (issues: ReadonlyArray<StandardSchemaV1.Issue>): InvalidValue =>
  new InvalidValue({ message: described(issues) })

const settled = (where: string, result: StandardSchemaV1.Result<unknown>): Effect.Effect<unknown, InvalidValue> => {
  try {
    if (result.issues !== undefined) return Exit.fail(invalid(result.issues))
    if ("value" in result) return Exit.succeed(result.value)
  } catch {}
  return Exit.die(
    new TypeError(`${where}: the schema's validate function must return { value } or { issues }, but returned neither`)
  )
}

/** Validates a value, synchronously if the schema allows it. A schema that throws or rejects is a defect. */
export type Validate = (value: unknown) => Effect.Effect<unknown, InvalidValue>

const validator = (where: string, schema: StandardSchemaV1): Validate => {
  const validate = validateOnce(schema)
  return (value) => {
    try {
      const result = validate(value)
      if (!isThenable(result)) return settled(where, result)
      // Handled at once: the caller may not run the effect, and an unhandled rejection would end the process.
      const exit = Promise.resolve(result).then((one) => settled(where, one), Exit.die)
      return Effect.flatten(Effect.promise(() => exit))
    } catch (thrown) {
      return Exit.die(thrown)
    }
  }
}

const ofEffect = (schema: Schema.Codec<unknown>): Pick<DescribedCodec<unknown>, "decode" | "encode"> => {
  const codec = JsonSchema.codec(schema)
  const fail = (error: { readonly message: string }) => new InvalidValue({ message: error.message })
  const decode = Schema.decodeUnknownEffect(codec, { errors: "all" })
  const encode = Schema.encodeUnknownEffect(codec, { errors: "all" })
  return {
    decode: (wire) => Effect.mapErrorEager(decode(wire), fail),
    encode: (value) => Effect.mapErrorEager(encode(value), fail)
  }
}

/**
 * One part of a feature: its JSON Schema and the function that validates its values. `where` starts the error message for an unsuitable
 * schema.
 */
export interface Part {
  readonly jsonSchema: JsonSchema.JsonObject
  readonly validate: Validate
}

/** Returns the part a schema describes. Throws if the schema has no JSON Schema. */
export const part = (where: string, schema: unknown, side: Side): Part => {
  if (isEffect(schema)) {
    const { decode, encode } = ofEffect(schema)
    const make = side === "input" ? JsonSchema.input : (one: typeof schema) => JsonSchema.output(one).schema
    return { jsonSchema: make(schema), validate: side === "input" ? decode : encode }
  }
  const standard = complete(where, schema)
  return { jsonSchema: documentOf(where, standard, side), validate: validator(where, standard) }
}

// A schema that needs services for decoding cannot be a Standard Schema either.
const isEffect = (u: unknown): u is Schema.Codec<unknown> => Schema.isSchema(u)

/** Returns the codec for a tool's input or output. The server decodes its input and encodes its output. */
export const valueCodec = ({ jsonSchema, validate }: Part): DescribedCodec<unknown> => ({
  jsonSchema,
  decode: validate,
  encode: validate
})

/** Throws unless every value the document allows is a JSON object. */
export const objectPart = (where: string, one: Part): Part => {
  const { type } = one.jsonSchema
  if (type === undefined || type === "object") return one
  throw new TypeError(`${where} must describe a JSON object, but has the type ${JSON.stringify(type)}`)
}
