/** Schemas that the SDK accepts: zod 3 or 4, also as an object of fields, or any Standard Schema with a JSON Schema. */
import { objectPart, part, type Part, type Side } from "@effect-mcp/promise/internal/compat"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import * as z3 from "zod/v3"
import * as z from "zod/v4-mini"
import { zodToJsonSchema } from "zod-to-json-schema"
import { isZod, resultOf, type Zod } from "./resultOf.ts"

/** Fields of an object, by name. */
export type RawShape = { readonly [field: string]: StandardSchemaV1 }
export type AnySchema = StandardSchemaV1 | RawShape

type Optional<S extends RawShape> = {
  [K in keyof S]: undefined extends StandardSchemaV1.InferOutput<S[K]> ? K : never
}[keyof S]

/** The decoded type of a schema or of an object of fields. */
export type Output<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends RawShape
    ? { [K in Exclude<keyof S, Optional<S>>]: StandardSchemaV1.InferOutput<S[K]> } & {
        [K in Optional<S>]?: StandardSchemaV1.InferOutput<S[K]>
      }
    : never

const isObject = (u: unknown): u is object => (typeof u === "object" && u !== null) || typeof u === "function"

const isStandard = (u: unknown): u is StandardSchemaV1 => isObject(u) && "~standard" in u

/** True for a schema of zod 3, which has no JSON Schema. */
const isZod3 = (u: unknown): u is z3.ZodTypeAny => isObject(u) && "_def" in u && !("_zod" in u) && "safeParseAsync" in u

/** True for a schema of zod 4. Before 4.2, and in zod/mini, it has no JSON Schema either. */
const isZod4 = (u: unknown): u is z.ZodMiniType => isObject(u) && isZod(u) && "_zod" in u

/** Returns the fields of an object schema, if it exposes them. */
export const shapeOf = (schema: unknown): { readonly [field: string]: unknown } => {
  if (!isObject(schema)) return {}
  if (!isStandard(schema) && !isZod3(schema)) return { ...schema }
  const shape: unknown = "shape" in schema ? schema.shape : undefined
  return typeof shape === "object" && shape !== null ? { ...shape } : {}
}

/** Keywords that zod before 4.1 hides from the converter of another copy of zod. */
const metaOf = (schema: object): object => {
  const meta: unknown = "meta" in schema && typeof schema.meta === "function" ? schema.meta() : undefined
  const { id: _named, ...keywords } = Object(meta)
  return keywords
}

const document4 = (schema: z.ZodMiniType, io: Side): { [keyword: string]: unknown } => ({
  ...z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema, zodSchema }) => void Object.assign(jsonSchema, { ...metaOf(zodSchema), ...jsonSchema })
  })
})

const document3 = (schema: z3.ZodTypeAny, pipeStrategy: Side): { [keyword: string]: unknown } => ({
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the converter is typed by another version of zod
  ...zodToJsonSchema(schema as never, { pipeStrategy, strictUnions: true })
})

/** Adds the interfaces of Standard Schema and Standard JSON Schema to a zod schema. */
const standardOf = (
  schema: Zod,
  document: (side: Side) => { [keyword: string]: unknown }
): StandardSchemaV1 & StandardJSONSchemaV1 => ({
  "~standard": {
    version: 1,
    vendor: "zod",
    validate: (value) => resultOf(schema, value),
    jsonSchema: { input: () => document("input"), output: () => document("output") }
  }
})

/** Returns the schema of an object with these fields. */
const objectOf = (where: string, shape: RawShape): unknown => {
  const fields: ReadonlyArray<readonly [string, unknown]> = Object.entries(shape)
  if (fields.every(([, field]) => isZod4(field))) return z.object(Object.fromEntries(fields.filter(isField4)))
  if (fields.every(([, field]) => isZod3(field))) return z3.object(Object.fromEntries(fields.filter(isField3)))
  const names = fields.map(([name]) => name).join(", ")
  throw new TypeError(
    `${where} is neither a schema nor an object of zod schemas (fields: ${names}). Use a schema, or fields from a single zod version, 3 or 4`
  )
}
const isField3 = (field: readonly [string, unknown]): field is [string, z3.ZodTypeAny] => isZod3(field[1])
const isField4 = (field: readonly [string, unknown]): field is [string, z.ZodMiniType] => isZod4(field[1])

/**
 * Converts the schema for one side of a feature. Throws if it has no JSON Schema, or if `object` is set and it does not describe an object.
 */
export const partOf = (where: string, schema: AnySchema, side: Side, object = true): Part => {
  const isSchema = isStandard(schema) || isZod3(schema) || isZod4(schema)
  const given: unknown = isSchema ? schema : objectOf(where, schema)
  const standard = isZod4(given)
    ? standardOf(given, (io) => document4(given, io))
    : isZod3(given)
      ? standardOf(given, (io) => document3(given, io))
      : given
  const made = part(where, standard, side)
  return object ? objectPart(where, made) : made
}

/** Validates a value. Rejects with an error that lists the issues. */
export const validated = (part: Part, value: unknown): Promise<unknown> => Effect.runPromise(part.validate(value))
