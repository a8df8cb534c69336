/**
 * Strict models of the schemas that providers accept as parameters of a function, written from their error messages and independent of the
 * rules.
 */
import { isJsonObject, type JsonObject } from "../../../src/internal/JsonObject.ts"

type Check = (schema: JsonObject, path: string) => string | undefined

const walk = (schema: unknown, path: string, check: Check): ReadonlyArray<string> => {
  if (!isJsonObject(schema)) return [`${path}: not an object`]
  const { anyOf, items, properties } = schema
  const found = check(schema, path)
  return [
    ...(found === undefined ? [] : [`${path}: ${found}`]),
    ...Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([key, inner]) =>
      walk(inner, `${path}.${key}`, check)
    ),
    ...(items === undefined ? [] : walk(items, `${path}[]`, check)),
    ...(Array.isArray(anyOf) ? anyOf.flatMap((inner, at) => walk(inner, `${path}|${at}`, check)) : [])
  ]
}

const rootOnly = ["anyOf", "oneOf", "allOf", "enum", "not", "if", "then", "else"]

/** Anthropic: an object at the root without composition, names of properties by a pattern, and nothing of older drafts. */
export const anthropic = (schema: JsonObject): ReadonlyArray<string> =>
  walk(schema, "$", (node, path) => {
    if (path === "$" && node["type"] !== "object") return "the type must be object"
    if (path === "$" && rootOnly.some((key) => key in node)) return "composition at the top level"
    const { properties } = node
    const names = path === "$" && isJsonObject(properties) ? Object.keys(properties) : []
    if (!names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name))) return "property keys should match a pattern"
    if (typeof node["exclusiveMinimum"] === "boolean" || typeof node["exclusiveMaximum"] === "boolean") return "draft 4"
    return Array.isArray(node["items"]) ? "items is a list" : undefined
  })

/** OpenAI: lists of properties and items are required, composition only by `anyOf`, no lookaround. */
export const openai = (schema: JsonObject): ReadonlyArray<string> =>
  walk(schema, "$", (node, path) => {
    if (path === "$" && (node["type"] !== "object" || rootOnly.some((key) => key in node)))
      return "not an object schema"
    if (path === "$" && !isJsonObject(node["properties"])) return "object schema missing properties"
    if (node["type"] === "array" && !isJsonObject(node["items"])) return "array schema missing items"
    if (["allOf", "oneOf", "prefixItems"].some((key) => key in node)) return "a keyword is not permitted"
    const { pattern } = node
    return typeof pattern === "string" && /\(\?[=!<]/.test(pattern) ? "regex lookaround is not supported" : undefined
  })

const geminiKeywords = new Set(
  "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example examples anyOf propertyOrdering default items minimum maximum additionalProperties".split(
    " "
  )
)

/** Gemini: the fields of its `Schema` message. */
export const gemini = (schema: JsonObject): ReadonlyArray<string> =>
  walk(schema, "$", (node) => {
    const unknown = Object.keys(node).find((key) => !geminiKeywords.has(key))
    if (unknown !== undefined) return `Unknown name ${unknown}`
    if (Array.isArray(node["type"])) return "Proto field is not repeating, cannot start list"
    const { enum: values, format, type } = node
    if (values !== undefined && type !== "string") return "enum: only allowed for STRING type"
    if (Array.isArray(values) && !values.every((value) => typeof value === "string"))
      return "Invalid value (TYPE_STRING)"
    return type === "string" && format !== undefined && format !== "date-time" && format !== "enum"
      ? "only enum and date-time are supported for STRING type"
      : undefined
  })
