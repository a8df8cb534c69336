/**
 * `x-mcp-header`: arguments of a tool that HTTP headers mirror, so that a gateway can route a call without reading its body.
 *
 * Owns the rules of the annotation (basic/transports/streamable-http#schema-extension). A tool that breaks one is not registered by
 * a server and not listed by an HTTP client. `Headers` owns the prefix and the encoding of values.
 */
import { excerpt } from "../Excerpt.ts"
import { isJsonObject, type JsonObject } from "../model/Shape.ts"
import type { HeaderParam } from "./HeaderParam.ts"

export { type HeaderParam, valueOf } from "./HeaderParam.ts"

/** The property of a schema that names the header of an argument (spec 2026-07-28: basic/transports). */
export const annotation = "x-mcp-header"

/**
 * A broken rule. `at` is the place of the annotated schema, as a path of keys.
 *
 * `name`: not an HTTP token. `type`: not a string, integer or boolean. `duplicate`: another argument has the name, in whatever case.
 * `unreachable`: not an argument by `properties` alone, or nested deeper than 64 levels.
 */
export interface Problem {
  readonly reason: "name" | "type" | "duplicate" | "unreachable"
  readonly at: ReadonlyArray<string>
  readonly message: string
}

/** The annotations of an input schema, and their problems; the tool is valid without problems. */
export interface Parsed {
  readonly params: ReadonlyArray<HeaderParam>
  readonly problems: ReadonlyArray<Problem>
}

// Long paths are costly: deeper schemas are read without them.
const maxDepth = 64
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// Keywords by how they hold schemas; any other keyword holds data, in which the annotation has no meaning.
const single = new Set(
  "additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties".split(
    " "
  )
)
const listed = new Set(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
const named = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])

interface Place {
  readonly schema: JsonObject
  readonly at: ReadonlyArray<string>
  /** The path of the argument, as long as only `properties` led here. */
  readonly path: ReadonlyArray<string> | undefined
}

const below = ({ schema, at, path }: Place): ReadonlyArray<Place> => {
  const tooDeep = at.length >= 2 * maxDepth
  const under = (...keys: ReadonlyArray<string>) => (tooDeep ? at : [...at, ...keys])
  return Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<Place> => {
    if (isJsonObject(value)) {
      if (single.has(keyword)) return [{ schema: value, at: under(keyword), path: undefined }]
      if (!named.has(keyword)) return []
    } else if (!Array.isArray(value) || !listed.has(keyword)) return []
    return Object.entries(value).flatMap(([key, schema]: readonly [string, unknown]) => {
      if (!isJsonObject(schema)) return []
      const reached = keyword === "properties" && path !== undefined && !tooDeep
      return [{ schema, at: under(keyword, key), path: reached ? [...path, key] : undefined }]
    })
  })
}

const isType = (type: unknown): type is HeaderParam["type"] =>
  type === "string" || type === "integer" || type === "boolean"

/** Reads the annotations of a tool's input schema, however deep it is. */
export const parse = (inputSchema: JsonObject): Parsed => {
  const params = new Map<string, HeaderParam>()
  const problems: Array<Problem> = []
  // A list of places instead of recursion, whose stack a deep schema could exhaust.
  const places: Array<Place> = [{ schema: inputSchema, at: [], path: [] }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    for (const next of below(place).toReversed()) places.push(next)
    const { schema, at, path } = place
    if (!Object.hasOwn(schema, annotation)) continue
    const name = schema[annotation]
    const problem = (reason: Problem["reason"], why: string) =>
      void problems.push({
        reason,
        at,
        message: `${annotation} ${excerpt(JSON.stringify(name))} at ${excerpt(`/${at.join("/")}`)} ${why}`
      })
    if (path === undefined || path.length === 0) problem("unreachable", "is not on an argument that can be reached")
    else if (typeof name !== "string" || !token.test(name)) problem("name", "is not a header name")
    else if (!isType(schema["type"])) problem("type", "is not on a string, an integer or a boolean")
    else if (params.has(name.toLowerCase())) problem("duplicate", "is taken by another argument")
    else params.set(name.toLowerCase(), { name, path, type: schema["type"] })
  }
  return { params: [...params.values()], problems }
}
