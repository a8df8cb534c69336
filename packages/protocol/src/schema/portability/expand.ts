/**
 * Replaces references with their definitions. A schema that contains itself is repeated once, and then described in
 * words.
 */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { References } from "./References.ts"
import { say } from "./words.ts"

/** Number of times a definition may appear inside itself. */
const maxRepeats = 2

/** Maximum number of schemas in the result. Definitions beyond it are described in words. */
const maxSchemas = 1000

/** Maximum depth of schemas in the result. */
const maxNesting = 60

const nameOf = (reference: string): string => {
  const last = reference.split("/").at(-1) ?? ""
  return last === "#" || last === "" ? "the whole input" : `"${last}"`
}

/** Keywords that hold schemas, and the form in which they hold them. */
const single = new Set(
  "additionalItems additionalProperties contains else if items not propertyNames then unevaluatedItems unevaluatedProperties".split(
    " "
  )
)
const listed = new Set(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
const named = new Set(["dependencies", "dependentSchemas", "patternProperties", "properties"])
const definitions = new Set(["$defs", "definitions"])

/** Applies `f` to each schema inside a schema. Definitions are dropped. */
export const mapInside = (schema: JsonObject, f: (inner: unknown) => unknown): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
      if (definitions.has(keyword)) return []
      if (Array.isArray(value)) return [[keyword, listed.has(keyword) ? value.map(f) : value]]
      if (single.has(keyword)) return [[keyword, f(value)]]
      if (!named.has(keyword) || !isJsonObject(value)) return [[keyword, value]]
      return [[keyword, Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, f(inner)]))]]
    })
  )

class Expansion {
  private readonly references: References
  /** Up to draft 7, keywords next to a reference have no meaning. */
  private readonly alone: boolean
  private readonly around = new Map<string, number>()
  private count = 0

  constructor(root: JsonObject) {
    this.references = new References(root)
    const { $schema } = root
    this.alone = typeof $schema === "string" && /draft-0[3-7]/.test($schema)
  }

  expand(schema: unknown, nesting: number): unknown {
    if (!isJsonObject(schema)) return schema
    this.count++
    const { $ref } = schema
    if (typeof $ref !== "string") return mapInside(schema, (inner) => this.expand(inner, nesting + 1))
    const { $ref: _, ...beside } = schema
    const own = this.alone ? notes(beside) : beside
    const rest = mapInside(own, (inner) => this.expand(inner, nesting + 1))
    const target = this.references.target($ref)
    // A broken reference stays unchanged, because nothing is known about its values.
    if (target === undefined) return schema
    if (typeof target === "boolean") return target ? rest : false
    const repeats = this.around.get($ref) ?? 0
    if (repeats >= maxRepeats || this.count > maxSchemas || nesting > maxNesting) {
      const { type } = target
      return say({ ...(type === undefined ? undefined : { type }), ...rest }, `Same form as ${nameOf($ref)} above.`)
    }
    this.around.set($ref, repeats + 1)
    const inner = this.expand(target, nesting + 1)
    this.around.set($ref, repeats)
    if (!isJsonObject(inner)) return inner === false ? false : rest
    // Constraints next to the reference apply as well. Annotations next to it describe this use of the definition.
    const clash = Object.keys(rest).some((key) => key in inner && !annotations.has(key))
    return clash ? { ...notes(rest), allOf: [inner, rest] } : { ...inner, ...rest }
  }
}

const annotations = new Set(["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"])
const notes = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => annotations.has(key)))

/**
 * Returns the document without references, except broken ones. Every value that is valid for the document is valid for
 * the result.
 */
export const expand = (root: JsonObject): JsonObject => {
  const expanded = new Expansion(root).expand(root, 0)
  return isJsonObject(expanded) ? expanded : root
}
