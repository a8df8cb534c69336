/**
 * Converts OpenAPI schemas to JSON Schemas for tools, with the schemas they reference in `$defs`.
 *
 * Drops OpenAPI-only keywords and extensions (`x-...`). Rejects references that point outside the document's schemas.
 */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Document from "./Document.ts"

const prefix = "#/components/schemas/"
/** Keywords whose values are data, not schemas. */
const data = new Set(["const", "default", "enum", "examples", "required", "type"])
/** Keywords whose properties are names, not keywords. */
const named = new Set(["properties", "patternProperties", "$defs", "dependentSchemas"])
const dropped = new Set(["discriminator", "example", "externalDocs", "xml"])
/** Keywords that change the meaning of references. */
const refused = new Set(["$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef"])

const nameOf = (reference: string): string => {
  if (!reference.startsWith(prefix) || reference.slice(prefix.length).includes("/")) {
    throw new Document.InvalidDocument({
      message: `A schema refers to ${excerpt(reference)}, but only references to ${prefix}... are supported`
    })
  }
  return reference.slice(prefix.length)
}

const converted = (value: unknown, used: Set<string>, isNames: boolean): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown) => converted(item, used, false))
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).flatMap(([key, item]): ReadonlyArray<readonly [string, unknown]> => {
    if (isNames) return [[key, converted(item, used, false)]]
    if (dropped.has(key) || key.startsWith("x-")) return []
    if (refused.has(key))
      throw new Document.InvalidDocument({ message: `A schema uses ${key}, which is not supported` })
    if (key === "$ref" && typeof item === "string") {
      const name = nameOf(item)
      used.add(name)
      return [[key, `#/$defs/${name}`]]
    }
    return [[key, data.has(key) ? item : converted(item, used, named.has(key))]]
  })
  return Object.fromEntries(entries)
}

/** Returns the schema along with all schemas it references. If the schema is just a reference, returns its target. */
export const jsonSchema = (document: JsonObject, schema: unknown): JsonObject => {
  const $defs = new Map<string, JsonObject>()
  const used = new Set<string>()
  const convert = (value: unknown): JsonObject => {
    const found = converted(value, used, false)
    return isJsonObject(found) ? found : {}
  }
  const reference = isJsonObject(schema) ? schema["$ref"] : undefined
  const root =
    typeof reference === "string"
      ? convert(Document.pointed(document, `${prefix}${nameOf(reference)}`))
      : convert(schema)
  // The set grows during the iteration.
  for (const name of used) $defs.set(name, convert(Document.pointed(document, `${prefix}${name}`)))
  return $defs.size === 0 ? root : { ...root, $defs: Object.fromEntries($defs) }
}
