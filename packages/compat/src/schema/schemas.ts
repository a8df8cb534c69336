/** Schemas as the SDK takes them: a Standard Schema with a JSON Schema, one of zod 3 or 4, or an object of such fields. */
import { objectPart, part, type Part, type Side } from "@effect-mcp/promise/internal/Standard"
import { InvalidValue } from "@effect-mcp/core/Tool"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import { zodToJsonSchema } from "zod-to-json-schema"

/** The fields of an object, by name. */
export type RawShape = { readonly [field: string]: StandardSchemaV1 }
export type AnySchema = StandardSchemaV1 | RawShape

type Optional<S extends RawShape> = {
  [K in keyof S]: undefined extends StandardSchemaV1.InferOutput<S[K]> ? K : never
}[keyof S]

/** What a schema, or an object of fields, makes of a value. */
export type Output<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends RawShape
    ? { [K in Exclude<keyof S, Optional<S>>]: StandardSchemaV1.InferOutput<S[K]> } & {
        [K in Optional<S>]?: StandardSchemaV1.InferOutput<S[K]>
      }
    : never

const isObject = (u: unknown): u is object => (typeof u === "object" && u !== null) || typeof u === "function"

const isStandard = (u: unknown): u is StandardSchemaV1 => isObject(u) && "~standard" in u

/** A schema of zod 3 has no JSON Schema of its own. */
const isZod3 = (u: object): boolean => "_def" in u && !("_zod" in u) && "safeParse" in u

/** The fields of a schema of an object, where it shows them. */
export const shapeOf = (schema: unknown): { readonly [field: string]: unknown } => {
  if (!isObject(schema)) return {}
  if (!isStandard(schema) && !isZod3(schema)) return { ...schema }
  const shape: unknown = "shape" in schema ? schema.shape : undefined
  return typeof shape === "object" && shape !== null ? { ...shape } : {}
}

const fieldOf = (where: string, schema: unknown, side: Side): Part => {
  if (!isObject(schema) || !isZod3(schema)) return part(where, schema, side)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the converter is typed by another version of zod
  const { $schema: _same, ...jsonSchema } = zodToJsonSchema(schema as never)
  if (!isStandard(schema)) throw new TypeError(`${where} is a schema of zod before 3.24; install zod 3.25 or 4.2`)
  return part(where, withDocument(schema, jsonSchema), side)
}

/** The schema with a JSON Schema beside it. */
const withDocument = (schema: StandardSchemaV1, document: object): StandardSchemaV1 => ({
  "~standard": {
    ...schema["~standard"],
    validate: schema["~standard"].validate,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Standard JSON Schema adds this member
    ...({ jsonSchema: { input: () => document, output: () => document } } as object)
  }
})

/** An object whose fields have schemas of their own: unknown members are dropped. */
const ofShape = (where: string, shape: RawShape, side: Side): Part => {
  const fields = Object.entries(shape).map(
    ([name, schema]) => [name, fieldOf(`${where}, field ${JSON.stringify(name)}`, schema, side), schema] as const
  )
  const isRequired = (schema: StandardSchemaV1): boolean => {
    const result = schema["~standard"].validate(undefined)
    return !(result instanceof Promise) && result.issues !== undefined
  }
  const required = fields.flatMap(([name, , schema]) => (isRequired(schema) ? [name] : []))
  return {
    jsonSchema: {
      type: "object",
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.jsonSchema])),
      ...(required.length > 0 && { required })
    },
    validate: (value) => {
      const given = new Map<string, unknown>(isObject(value) ? Object.entries(value) : [])
      const results = fields.map(([name, field]) =>
        Effect.map(
          Effect.mapError(
            field.validate(given.get(name)),
            ({ message }) => new InvalidValue({ message: `${message} at ${JSON.stringify([name])}` })
          ),
          (result) => [name, result] as const
        )
      )
      return Effect.map(Effect.all(results), (entries) =>
        Object.fromEntries(entries.filter(([, result]) => result !== undefined))
      )
    }
  }
}

/** One side of a feature. Throws for a schema that has no JSON Schema, or describes no object where `object` wants one. */
export const partOf = (where: string, schema: AnySchema, side: Side, object = true): Part => {
  const made = isStandard(schema) || isZod3(schema) ? fieldOf(where, schema, side) : ofShape(where, schema, side)
  return object ? objectPart(where, made) : made
}

/** Validates a value; rejects with an error that has the issues. */
export const validated = (part: Part, value: unknown): Promise<unknown> => Effect.runPromise(part.validate(value))
