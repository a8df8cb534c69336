/**
 * `x-mcp-header`: tool arguments that are copied to HTTP headers, so that a gateway can route a call without reading its body.
 *
 * Implements the annotation's rules (basic/transports/streamable-http#schema-extension). If a tool violates one, servers don't register it
 * and HTTP clients don't list it. `Headers` defines the prefix and encodes the values.
 */
import { excerpt } from "../Excerpt.ts"
import { isJsonObject, type JsonObject } from "../model/Shape.ts"
import type { HeaderParam } from "./HeaderParam.ts"

export { type HeaderParam, valueOf } from "./HeaderParam.ts"

/** Schema property that names the header for an argument (spec 2026-07-28: basic/transports). */
export const annotation = "x-mcp-header"

/**
 * A rule violation. `at` is the path to the annotated schema, as a list of keys.
 *
 * `name`: the header name is not an HTTP token. `type`: the argument is not a string, integer or boolean. `duplicate`: another argument
 * uses the same header name, ignoring case. `unreachable`: the schema can't be reached through `properties` alone, or is nested more than
 * 64 levels deep.
 */
export interface Problem {
  readonly reason: "name" | "type" | "duplicate" | "unreachable"
  readonly at: ReadonlyArray<string>
  readonly message: string
}

/** The annotations in an input schema, and any problems with them. The tool is valid if there are no problems. */
export interface Parsed {
  readonly params: ReadonlyArray<HeaderParam>
  readonly problems: ReadonlyArray<Problem>
}

// Long paths are expensive, so annotations below this depth are found but have no path.
const maxDepth = 64
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// Keywords grouped by how they contain schemas. Every other keyword contains data, where the annotation has no meaning.
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
  /** Path to the argument, as long as it consists only of `properties`. */
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

/** Reads the annotations in a tool's input schema, however deep it is nested. */
export const parse = (inputSchema: JsonObject): Parsed => {
  const params = new Map<string, HeaderParam>()
  const problems: Array<Problem> = []
  // A worklist instead of recursion, because a deeply nested schema could overflow the stack.
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
    if (path === undefined || path.length === 0) problem("unreachable", "is not on a reachable argument")
    else if (typeof name !== "string" || !token.test(name)) problem("name", "is not a valid header name")
    else if (!isType(schema["type"])) problem("type", "must be on a string, an integer or a boolean")
    else if (params.has(name.toLowerCase())) problem("duplicate", "is already used by another argument")
    else params.set(name.toLowerCase(), { name, path, type: schema["type"] })
  }
  return { params: [...params.values()], problems }
}
