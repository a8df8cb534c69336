/**
 * A foreign JSON Schema made ready for the interpreter: copied (the interpreter marks what it reads) and reduced to the keywords of its
 * draft. It is checked for everything that would otherwise fail, or never end, while a value is validated.
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

/** The schema cannot be used to validate anything; `path` is a JSON Pointer into it. */
export class UnsupportedSchema extends Data.TaggedError("UnsupportedSchema")<{
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `Unsupported JSON Schema at ${excerpt(JSON.stringify(this.path))}: ${this.reason}`
  }
}

/** Most subschemas in one schema. */
const maxSubschemas = 10_000
/** Most instructions of all patterns in one schema. */
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
  if (found === undefined) return refuse("/$schema", `the dialect ${excerpt(JSON.stringify(dialect))} is not known`)
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

/** Keywords and the values they take. What is not here says nothing about validity, and is left out. */
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

/** The formats that may be asserted: the interpreter's expressions for some others can be slow. */
const safeFormats: ReadonlyArray<unknown> = ["date", "date-time", "email", "ipv4", "ipv6", "time", "uri", "uuid"]

/** The interpreter would match patterns by an engine that backtracks. It gets this format in their place. */
export const patternFormat = "effect-mcp pattern"
let running: Matcher | undefined
let budget: Budget = { steps: 0 }
const isFound = (text: string): boolean => running?.(text, budget) === true
format[patternFormat] = isFound

let keyBudget: Budget = { steps: 0 }
let keySteps = 0

/** Steps that one validation may take. */
interface StepLimits {
  /** For all patterns of strings together. */
  readonly steps: number
  /** For all matches of names against `patternProperties`. */
  readonly ofKeys: number
  /** Most steps to match the names of one object of the value against all of these patterns. */
  readonly perObject: number
}

/** Begins a validation. */
export const allow = ({ ofKeys, perObject, steps }: StepLimits): void => {
  budget = { steps }
  keyBudget = { steps: ofKeys }
  keySteps = perObject
}

/** The interpreter reads the patterns each time it matches the names of an object. */
const countedPatterns = (patterns: Node): Node =>
  new Proxy(patterns, {
    ownKeys: (target) => {
      if ((keyBudget.steps -= keySteps) < 0) throw new Error("it has too many names for the patterns of the schema")
      return Reflect.ownKeys(target)
    }
  })

/** A `format` by which the interpreter matches one pattern, and the format that the same schema asserts. */
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

/** A schema that `validate` can be given. */
export interface Prepared {
  readonly draft: Draft
  readonly root: Node | boolean
  readonly lookup: Lookup
  /** Whether it uses `uniqueItems`. */
  readonly unique: boolean
  /** Most steps to match a name of this length against all `patternProperties`, or `undefined` if there are none. */
  readonly keySteps: ((length: number) => number) | undefined
}

/** The options of a schema that has none of its own. */
export const defaults = { formats: false, maxDepth: 64 }

/** Rebuilds and checks a schema; throws `UnsupportedSchema`. */
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
    if (!isNode(value)) return refuse(path, "a schema is an object or a boolean")
    if (depth > maxDepth) return refuse(path, `nested deeper than ${maxDepth} levels`)
    if (nodes.size >= maxSubschemas) return refuse(path, `more than ${maxSubschemas} subschemas`)
    if (path !== "" && "$schema" in value && draftOf(value) !== draft) return refuse(path, "mixes two dialects")
    const out: Node = {}
    nodes.set(path, out)
    for (const [key, content] of Object.entries(value)) {
      const fits = Object.hasOwn(known, key) ? known[key] : undefined
      const at = `${path}/${escape(key)}`
      if (fits === undefined || (key === "format" && !(formats && safeFormats.includes(content)))) continue
      if (!fits(content))
        return refuse(at, `${excerpt(JSON.stringify(content) ?? "undefined", 100)} is no value for "${key}"`)
      if (key === "uniqueItems") unique ||= content === true
      if (key === "patternProperties") {
        const costs = Object.keys(Object(content)).map((source) => keyCost(`${at}/${escape(source)}`, source))
        keyed.push(...costs)
        counted.push(out)
      }
      if (key === "$id" && path !== "") resources++
      if (key === "$dynamicRef") dynamic = at
      const name = key === "$dynamicRef" ? "$ref" : key === "$dynamicAnchor" ? "$anchor" : key
      if (name !== key && Object.hasOwn(value, name)) return refuse(at, `"${key}" beside "${name}" is not supported`)
      out[name] = verbatim.includes(key) ? content : part(key, content, at, depth)
    }
    if (typeof out["pattern"] === "string") {
      const source = out["pattern"]
      out["format"] = supported(`${path}/pattern`, () => patternOf(source, out["format"], room))
      delete out["pattern"]
    }
    // In draft-07 nothing beside a `$ref` counts, but a `definitions` beside it can be its target.
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
  if (dynamic !== undefined && resources > 1) refuse(dynamic, `"$dynamicRef" in a schema of several "$id"s`)
  const lookup = resolveReferences(root)
  for (const [path, node] of nodes) {
    const { $ref } = node
    if ($ref !== undefined && target(lookup, node) === undefined) {
      refuse(path, `${excerpt(JSON.stringify($ref) ?? "undefined")} is not in this schema, and nothing is fetched`)
    }
  }
  checkChains(nodes, lookup, maxDepth)
  for (const node of counted) {
    const { patternProperties } = node
    if (isNode(patternProperties)) node["patternProperties"] = countedPatterns(patternProperties)
  }
  return { draft, root, lookup, unique, keySteps: counted.length === 0 ? undefined : sumOf(keyed) }
}

/** The interpreter itself matches names of properties, by an engine that backtracks. */
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

/** Throws `UnsupportedSchema` for a schema that no value can be validated by. */
export const check = (schema: unknown): void => void prepare(schema, defaults)

/** One token of a JSON Pointer. */
export const escape = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

const resolveReferences = (root: Node | boolean): Lookup => {
  try {
    return dereference(root)
  } catch (cause) {
    // A `$ref` or `$id` that is no URI reference, or two schemas of one name.
    return refuse("", cause instanceof Error ? cause.message : String(cause))
  }
}

/** The schema a node refers to, as `dereference` has resolved it. */
const target = (lookup: Lookup, node: Node): unknown => lookup[String(node["__absolute_ref__"] ?? node["$ref"])]

/** Refuses schemas that apply to one and the same value without end, or through too many steps. */
const checkChains = (nodes: ReadonlyMap<string, Node>, lookup: Lookup, maxDepth: number): void => {
  const lengths = new Map<Node, number>()
  const visit = (node: Node, path: string, depth: number): number => {
    const known = lengths.get(node)
    if (known === 0) return refuse(path, "refers back to itself without descending into the value")
    if (depth + (known ?? 0) > maxDepth) return refuse(path, `more than ${maxDepth} steps for one value`)
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
