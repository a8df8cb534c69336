/** Visits every schema inside a schema. Iterative and bounded, because the schema may come from a stranger. */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"

/** A schema at its place. */
export interface SchemaPlace {
  readonly schema: JsonObject | boolean
  /** Location as a JSON pointer. The root is the empty string. */
  readonly at: string
  /** The keyword that holds the schema, or `undefined` for the root. */
  readonly keyword: string | undefined
  /** Number of objects and arrays that enclose this schema's values. */
  readonly depth: number
}

/** Keywords that hold one schema. `items` may also hold a list, before 2020-12. */
const single = new Set(
  "additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties".split(
    " "
  )
)
const listed = new Set(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
const named = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])
const deeper = new Set(["additionalProperties", "items", "patternProperties", "prefixItems", "properties"])

/** Maximum number of schemas to visit. */
const maxPlaces = 20_000

const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
const isSchema = (value: unknown): value is JsonObject | boolean => typeof value === "boolean" || isJsonObject(value)

/** Returns the schemas directly inside a schema. */
export const inside = ({ at, depth, schema }: SchemaPlace): ReadonlyArray<SchemaPlace> => {
  if (typeof schema === "boolean") return []
  const places: Array<SchemaPlace> = []
  const add = (value: unknown, keyword: string, path: string): void => {
    const next = deeper.has(keyword) ? depth + 1 : depth
    if (isSchema(value)) places.push({ schema: value, at: `${at}/${path}`, keyword, depth: next })
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (Array.isArray(value)) {
      if (listed.has(keyword)) value.forEach((item, index) => add(item, keyword, `${keyword}/${index}`))
    } else if (single.has(keyword)) add(value, keyword, keyword)
    else if (named.has(keyword) && isJsonObject(value)) {
      for (const [key, item] of Object.entries(value)) add(item, keyword, `${keyword}/${escaped(key)}`)
    }
  }
  return places
}

/** Returns every schema in a document, outer schemas first. Stops after 20,000 schemas. */
export const placesOf = (root: JsonObject): ReadonlyArray<SchemaPlace> => {
  const places: Array<SchemaPlace> = []
  const open: Array<SchemaPlace> = [{ schema: root, at: "", keyword: undefined, depth: 0 }]
  for (let place = open.pop(); place !== undefined && places.length < maxPlaces; place = open.pop()) {
    places.push(place)
    open.push(...inside(place).toReversed())
  }
  return places
}
