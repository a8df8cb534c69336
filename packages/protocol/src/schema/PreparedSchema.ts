/**
 * Prepares an external JSON Schema for the interpreter: copies it (the interpreter marks the schemas it reads) and reduces it to the
 * keywords of its draft. Checks for everything that would otherwise fail, or never end, during validation.
 */
import { dereference, format } from "@cfworker/json-schema"
import * as Data from "effect/Data"
import { excerpt } from "../Excerpt.ts"
import {
  backtrackingCost,
  type Budget,
  type Cost,
  type Matcher,
  matcher,
  type Room,
  stepsFor,
  UnsupportedPattern
} from "./LinearPattern.ts"

/** The schema cannot be used for validation. `path` is a JSON Pointer to the problem. */
export class UnsupportedSchema extends Data.TaggedError("UnsupportedSchema")<{
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `Unsupported JSON Schema at ${excerpt(JSON.stringify(this.path))}: ${this.reason}`
  }
}

/** Maximum number of subschemas in a schema. */
const maxSubschemas = 10_000
/** Maximum number of instructions for all patterns in a schema. */
const maxInstructions = 200_000

type Draft = "2020-12" | "7"
type Node = Record<string, unknown>
type Lookup = ReturnType<typeof dereference>

const refuse = (path: string, reason: string): never => {
  throw new UnsupportedSchema({ path, reason })
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

const draftOf = (schema: unknown): Draft => {
  const dialect = isNode(schema) ? schema["$schema"] : undefined
  if (dialect === undefined) return "2020-12"
  const found = /^https?:\/\/json-schema\.org\/(draft\/2020-12|draft-07)\/schema#?$/.exec(
    typeof dialect === "string" ? dialect : ""
  )?.[1]
  if (found === undefined) return refuse("/$schema", `the dialect ${excerpt(JSON.stringify(dialect))} is not supported`)
  return found === "draft-07" ? "7" : "2020-12"
}

const isSchema = (value: unknown) => typeof value === "boolean" || isNode(value)
const isText = (value: unknown) => typeof value === "string"
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value)
const isCount = (value: unknown) => Number.isInteger(value) && Number(value) >= 0
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText)
const isMapOf = (is: (value: unknown) => boolean) => (value: unknown) => isNode(value) && Object.values(value).every(is)
const isSchemas = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isRegExp = (value: unknown) => {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp
  } catch {
    return false
  }
}
const types = ["array", "boolean", "integer", "null", "number", "object", "string"]
const isType = (value: unknown) => [value].flat().every((type) => types.includes(String(type)))

/** Supported keywords with a check of their values. All other keywords don't affect validity and are dropped. */
const common: Record<string, (value: unknown) => boolean> = {
  $id: isText,
  $ref: isText,
  $defs: isMapOf(isSchema),
  definitions: isMapOf(isSchema),
  type: isType,
  enum: Array.isArray,
  const: () => true,
  format: isText,
  ...Object.fromEntries(["allOf", "anyOf", "oneOf"].map((key) => [key, isSchemas])),
  ...Object.fromEntries(["not", "if", "then", "else", "contains"].map((key) => [key, isSchema])),
  ...Object.fromEntries(["additionalProperties", "propertyNames"].map((key) => [key, isSchema])),
  ...Object.fromEntries(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((key) => [key, isNumber])),
  ...Object.fromEntries(["minLength", "maxLength", "minItems", "maxItems"].map((key) => [key, isCount])),
  ...Object.fromEntries(["minProperties", "maxProperties"].map((key) => [key, isCount])),
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  pattern: isRegExp,
  uniqueItems: (value) => typeof value === "boolean",
  required: isTexts,
  properties: isMapOf(isSchema),
  patternProperties: (value) => isMapOf(isSchema)(value) && Object.keys(Object(value)).every(isRegExp)
}
const keywords: Record<Draft, Record<string, (value: unknown) => boolean>> = {
  "7": {
    ...common,
    items: (value) => isSchema(value) || (Array.isArray(value) && value.every(isSchema)),
    additionalItems: isSchema,
    dependencies: isMapOf((value) => isSchema(value) || isTexts(value))
  },
  "2020-12": {
    ...common,
    $anchor: isText,
    $dynamicAnchor: isText,
    $dynamicRef: isText,
    items: isSchema,
    prefixItems: isSchemas,
    unevaluatedItems: isSchema,
    unevaluatedProperties: isSchema,
    dependentRequired: isMapOf(isTexts),
    dependentSchemas: isMapOf(isSchema),
    minContains: isCount,
    maxContains: isCount
  }
}
const maps = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
const verbatim = ["enum", "const", "type", "required", "dependentRequired"]

/** Formats that can be checked. Some of the interpreter's other expressions can be slow. */
const safeFormats: ReadonlyArray<unknown> = ["date", "date-time", "email", "ipv4", "ipv6", "time", "uri", "uuid"]

/** Stands in for patterns, which the interpreter would match with a backtracking engine. */
export const patternFormat = "effect-mcp pattern"
let running: Matcher | undefined
let budget: Budget = { steps: 0 }
const isFound = (text: string): boolean => running?.(text, budget) === true
format[patternFormat] = isFound

let keyBudget: Budget = { steps: 0 }
let keySteps = 0

/** Maximum number of steps for one validation. */
interface StepLimits {
  /** For all string patterns together. */
  readonly steps: number
  /** For matching all property names against `patternProperties`. */
  readonly ofKeys: number
  /** For matching the property names of a single object against all patterns. */
  readonly perObject: number
}

/** Starts a validation. */
export const allow = ({ ofKeys, perObject, steps }: StepLimits): void => {
  budget = { steps }
  keyBudget = { steps: ofKeys }
  keySteps = perObject
}

/** The interpreter reads the patterns every time it matches an object's property names. */
const countedPatterns = (patterns: Node): Node =>
  new Proxy(patterns, {
    ownKeys: (target) => {
      if ((keyBudget.steps -= keySteps) < 0)
        throw new Error("it has too many properties to match against the schema's patterns")
      return Reflect.ownKeys(target)
    }
  })

/** Returns a `format` that makes the interpreter match a pattern, combined with the format the schema already checks. */
const patternOf = (source: string, other: unknown, room: Room) => {
  const match = matcher(source, room)
  const also = safeFormats.includes(other) ? format[String(other)] : undefined
  const both: Matcher = also === undefined ? match : (text, budget) => match(text, budget) && also(text)
  return {
    toString: () => {
      running = both
      return patternFormat
    }
  }
}

const supported = <A>(path: string, make: () => A): A => {
  try {
    return make()
  } catch (cause) {
    if (cause instanceof UnsupportedPattern) return refuse(path, cause.message)
    throw cause
  }
}

/** A schema that is ready for `validate`. */
export interface Prepared {
  readonly draft: Draft
  readonly root: Node | boolean
  readonly lookup: Lookup
  /** True if the schema uses `uniqueItems`. */
  readonly unique: boolean
  /**
   * Returns the maximum number of steps to match a name of this length against all `patternProperties`, or `undefined` if there are none.
   */
  readonly keySteps: ((length: number) => number) | undefined
}

/** Default options. */
export const defaults = { formats: false, maxDepth: 64 }

/** Rebuilds and checks a schema. Throws `UnsupportedSchema`. */
export const prepare = (
  schema: unknown,
  { formats, maxDepth }: { readonly formats: boolean; readonly maxDepth: number }
): Prepared => {
  const draft = draftOf(schema)
  const known = keywords[draft]
  const nodes = new Map<string, Node>()
  const room: Room = { instructions: maxInstructions }
  const keyed: Array<Cost> = []
  const counted: Array<Node> = []
  let unique = false
  let dynamic: string | undefined
  let resources = 1

  const node = (value: unknown, path: string, depth: number): Node | boolean => {
    if (typeof value === "boolean") return value
    if (!isNode(value)) return refuse(path, "a schema must be an object or a boolean")
    if (depth > maxDepth) return refuse(path, `nested deeper than ${maxDepth} levels`)
    if (nodes.size >= maxSubschemas) return refuse(path, `more than ${maxSubschemas} subschemas`)
    if (path !== "" && "$schema" in value && draftOf(value) !== draft)
      return refuse(path, "mixes two JSON Schema dialects")
    const out: Node = {}
    nodes.set(path, out)
    for (const [key, content] of Object.entries(value)) {
      const fits = Object.hasOwn(known, key) ? known[key] : undefined
      const at = `${path}/${escape(key)}`
      if (fits === undefined || (key === "format" && !(formats && safeFormats.includes(content)))) continue
      if (!fits(content))
        return refuse(at, `${excerpt(JSON.stringify(content) ?? "undefined", 100)} is not a valid value for "${key}"`)
      if (key === "uniqueItems") unique ||= content === true
      if (key === "patternProperties") {
        const costs = Object.keys(Object(content)).map((source) => keyCost(`${at}/${escape(source)}`, source))
        keyed.push(...costs)
        counted.push(out)
      }
      if (key === "$id" && path !== "") resources++
      if (key === "$dynamicRef") dynamic = at
      const name = key === "$dynamicRef" ? "$ref" : key === "$dynamicAnchor" ? "$anchor" : key
      if (name !== key && Object.hasOwn(value, name)) return refuse(at, `"${key}" next to "${name}" is not supported`)
      out[name] = verbatim.includes(key) ? content : part(key, content, at, depth)
    }
    if (typeof out["pattern"] === "string") {
      const source = out["pattern"]
      out["format"] = supported(`${path}/pattern`, () => patternOf(source, out["format"], room))
      delete out["pattern"]
    }
    // In draft-07, everything next to a `$ref` is ignored, but `definitions` next to it can be its target.
    if (draft === "7" && "$ref" in out) delete out["$id"]
    return out
  }

  const part = (key: string, content: unknown, path: string, depth: number): unknown => {
    if (Array.isArray(content)) return content.map((sub, index) => node(sub, `${path}/${index}`, depth + 1))
    if (!isNode(content)) return content
    if (!maps.includes(key)) return node(content, path, depth + 1)
    const entries = Object.entries(content).map(([name, sub]) => {
      return [name, isSchema(sub) ? node(sub, `${path}/${escape(name)}`, depth + 1) : sub] as const
    })
    return Object.fromEntries(entries)
  }

  const root = node(schema, "", 1)
  if (dynamic !== undefined && resources > 1) refuse(dynamic, `"$dynamicRef" in a schema with several "$id"s`)
  const lookup = resolveReferences(root)
  for (const [path, node] of nodes) {
    const { $ref } = node
    if ($ref !== undefined && target(lookup, node) === undefined) {
      refuse(
        path,
        `${excerpt(JSON.stringify($ref) ?? "undefined")} is not in this schema, and references are never fetched`
      )
    }
  }
  checkChains(nodes, lookup, maxDepth)
  for (const node of counted) {
    const { patternProperties } = node
    if (isNode(patternProperties)) node["patternProperties"] = countedPatterns(patternProperties)
  }
  return { draft, root, lookup, unique, keySteps: counted.length === 0 ? undefined : sumOf(keyed) }
}

/** The interpreter matches property names with a backtracking engine. */
const keyCost = (path: string, source: string): Cost => {
  const cost = supported(path, () => backtrackingCost(source))
  if (cost !== undefined) return { factor: cost.factor + source.length, degree: cost.degree }
  return refuse(path, "the expression repeats a part that can match in several ways, which can take exponential time")
}

const sumOf = (costs: ReadonlyArray<Cost>): ((length: number) => number) => {
  const factors = new Map<number, number>()
  for (const { degree, factor } of costs) factors.set(degree, (factors.get(degree) ?? 0) + factor)
  const sums = Array.from(factors, ([degree, factor]): Cost => ({ degree, factor }))
  return (length) => sums.reduce((sum, cost) => sum + stepsFor(cost, length), 0)
}

/** Throws `UnsupportedSchema` if the schema cannot be used for validation. */
export const check = (schema: unknown): void => void prepare(schema, defaults)

/** Escapes a JSON Pointer token. */
export const escape = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

const resolveReferences = (root: Node | boolean): Lookup => {
  try {
    return dereference(root)
  } catch (cause) {
    // A `$ref` or `$id` is not a URI reference, or two schemas have the same name.
    return refuse("", cause instanceof Error ? cause.message : String(cause))
  }
}

/** Returns the schema a node refers to, as resolved by `dereference`. */
const target = (lookup: Lookup, node: Node): unknown => lookup[String(node["__absolute_ref__"] ?? node["$ref"])]

/** Rejects schemas that reference each other endlessly for the same value, or through too many steps. */
const checkChains = (nodes: ReadonlyMap<string, Node>, lookup: Lookup, maxDepth: number): void => {
  const lengths = new Map<Node, number>()
  const visit = (node: Node, path: string, depth: number): number => {
    const known = lengths.get(node)
    if (known === 0) return refuse(path, "refers back to itself without descending into the value")
    if (depth + (known ?? 0) > maxDepth) return refuse(path, `more than ${maxDepth} references for one value`)
    if (known !== undefined) return known
    lengths.set(node, 0)
    const length = 1 + Math.max(0, ...inPlace(node, lookup).map((next) => visit(next, path, depth + 1)))
    lengths.set(node, length)
    return length
  }
  for (const [path, node] of nodes) visit(node, path, 1)
}

const inPlace = (node: Node, lookup: Lookup): ReadonlyArray<Node> =>
  [
    ...("$ref" in node ? [target(lookup, node)] : []),
    ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"].flatMap((key) => node[key]),
    ...["dependentSchemas", "dependencies"].flatMap((key) => Object.values(Object(node[key])))
  ].filter(isNode)
