/** Returns the smallest value of a JSON Schema, which a client without a user submits as a form's answer. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"

/** Returns a value that most likely matches the schema. If a schema isn't understood, returns a string. */
export const example = (schema: unknown, depth = 0): unknown => {
  if (!isJsonObject(schema) || depth > 8) return "fuzz"
  if ("default" in schema) return schema.default
  if ("const" in schema) return schema.const
  const options = schema.enum ?? schema.examples
  if (Array.isArray(options) && options.length > 0) return options[0]
  const alternatives = schema.oneOf ?? schema.anyOf
  if (Array.isArray(alternatives) && alternatives.length > 0) return example(alternatives[0], depth + 1)
  return ofType(schema, depth)
}

const ofType = (schema: JsonObject, depth: number): unknown => {
  const type: unknown = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case "object":
      return members(schema, depth)
    case "array":
      return Array.from({ length: count(schema.minItems) }, () => example(schema.items, depth + 1))
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? Math.ceil(schema.minimum) : 1
    case "boolean":
      return true
    case "null":
      return null
    default:
      return text(schema)
  }
}

const count = (value: unknown): number => (typeof value === "number" ? Math.min(value, 10) : 0)

const members = ({ properties, required }: JsonObject, depth: number): JsonObject => {
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  return Object.fromEntries(
    names.flatMap((name) =>
      typeof name === "string"
        ? [[name, example(isJsonObject(properties) ? properties[name] : undefined, depth + 1)]]
        : []
    )
  )
}

const formats: { readonly [format: string]: string } = {
  date: "2026-07-28",
  "date-time": "2026-07-28T12:00:00Z",
  email: "fuzz@example.com",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000"
}

const text = ({ format, minLength }: JsonObject): string => {
  const value = typeof format === "string" ? (formats[format] ?? "fuzz") : "fuzz"
  return value.padEnd(count(minLength), "z")
}
