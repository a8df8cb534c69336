/** Summarizes a tool's arguments from its JSON Schema. `effect-mcp tools NAME` shows the complete schema. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { propertyOf, typesOf } from "../terminal/Arguments.ts"
import * as Style from "../terminal/Style.ts"

/** Formats a type briefly: `string`, `integer[]`, `"a" | "b"`. */
export const typeName = (schema: unknown, root: JsonObject): string => {
  if (!isJsonObject(schema)) return "any"
  const { const: only, enum: values, items, type } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ")
  if (type === "array") {
    const item = typeName(items, root)
    return item.includes(" ") ? `(${item})[]` : `${item}[]`
  }
  const types = typesOf(schema, root)
  return types.length === 0 ? "any" : types.join(" | ")
}

const requiredOf = (schema: JsonObject): ReadonlyArray<unknown> =>
  Array.isArray(schema.required) ? schema.required : []

/** Returns a row per property: name, type, whether it is required, and description. */
export const properties = (schema: JsonObject, style: Style.Style): ReadonlyArray<ReadonlyArray<string>> =>
  Object.keys(isJsonObject(schema.properties) ? schema.properties : {}).map((name) => {
    const property = propertyOf(schema, name)
    const { default: value, description } = isJsonObject(property) ? property : {}
    const about = [
      ...(typeof description === "string" ? [Style.safeLine(description)] : []),
      ...(value === undefined ? [] : [`(default ${Style.safeLine(JSON.stringify(value))})`])
    ]
    return [
      style.cyan(Style.safeLine(name)),
      Style.safeLine(typeName(property, schema)),
      requiredOf(schema).includes(name) ? style.yellow("required") : style.dim("optional"),
      about.join(" ")
    ]
  })
