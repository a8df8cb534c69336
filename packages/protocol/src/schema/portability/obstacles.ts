/** Finds the parts of a tool that some host cannot handle. */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { type SchemaPlace, placesOf } from "./Places.ts"
import type { RuleId } from "./PortabilityRule.ts"
import { References } from "./References.ts"
import {
  geminiFormats,
  geminiUnknown,
  hasLookaround,
  isPropertyName,
  isToolName,
  maxDescription
} from "./vocabulary.ts"

/** A part of a tool that breaks a rule. */
export interface Obstacle {
  readonly rule: RuleId
  /** The part of the tool: `name`, `description`, `inputSchema` or `outputSchema`. */
  readonly part: "name" | "description" | "inputSchema" | "outputSchema"
  /** Location in the schema as a JSON pointer. The root is the empty string. */
  readonly at: string
}

/** The parts of a tool that the rules check. */
export interface Described {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject | undefined
}

/** Maximum number of obstacles to report for one tool. */
const maxObstacles = 100
const maxDepth = 10

/** A rule's test for a schema. */
type Test = (schema: JsonObject, place: SchemaPlace, references: References) => boolean

const has = (schema: JsonObject, ...keywords: ReadonlyArray<string>): boolean =>
  keywords.some((keyword) => keyword in schema)
const isRoot = ({ keyword }: SchemaPlace): boolean => keyword === undefined
const conditions = ["if", "then", "else", "not", "dependentRequired", "dependentSchemas", "dependencies"]
const bounds = ["exclusiveMinimum", "exclusiveMaximum"]
const hasType = ({ type }: JsonObject, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name))

/** Keywords that hosts infer a type from. */
const typed =
  "type enum const anyOf oneOf allOf $ref properties required additionalProperties items prefixItems format minimum maximum multipleOf exclusiveMinimum exclusiveMaximum".split(
    " "
  )
/** Keywords that hold the schema of a whole value instead of a part of it. */
const valued = new Set(["anyOf", "oneOf", "items", "prefixItems", "properties"])

const referenceOf = ({ $ref }: JsonObject, references: References) =>
  typeof $ref === "string" ? references.kind($ref) : undefined

/** True for a dialect other than the one that MCP defaults to. */
const isOtherDialect = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && !/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test($schema)

const isWrongEnum = ({ enum: values, type }: JsonObject): boolean =>
  Array.isArray(values) && (type !== "string" || values.some((value) => typeof value !== "string"))

const tests: { readonly [Id in RuleId]?: Test } = {
  "root-type": (schema, place) => isRoot(place) && schema["type"] !== "object",
  "root-union": (schema, place) => isRoot(place) && has(schema, "anyOf", "oneOf"),
  "root-intersection": (schema, place) => isRoot(place) && has(schema, "allOf"),
  "root-condition": (schema, place) => isRoot(place) && has(schema, "enum", "const", ...conditions),
  "root-properties": ({ properties }, place) => isRoot(place) && !isJsonObject(properties),
  reference: (schema, _, references) => referenceOf(schema, references) === "plain",
  recursion: (schema, _, references) => referenceOf(schema, references) === "recursive",
  "broken-reference": (schema, _, references) =>
    referenceOf(schema, references) === "broken" || has(schema, "$dynamicRef", "$recursiveRef"),
  dialect: (schema, place) => isRoot(place) && isOtherDialect(schema),
  "old-tuple": ({ items }) => Array.isArray(items),
  "old-bound": (schema) => bounds.some((bound) => typeof schema[bound] === "boolean"),
  tuple: ({ prefixItems }) => Array.isArray(prefixItems),
  "array-items": (schema) => hasType(schema, "array") && !has(schema, "items", "prefixItems"),
  "type-list": ({ type }) => Array.isArray(type),
  const: (schema, place) => !isRoot(place) && has(schema, "const"),
  "enum-value": (schema, place) => !isRoot(place) && isWrongEnum(schema),
  "exclusive-bound": (schema) => bounds.some((bound) => typeof schema[bound] === "number"),
  "one-of": (schema, place) => !isRoot(place) && has(schema, "oneOf"),
  "all-of": (schema, place) => !isRoot(place) && has(schema, "allOf"),
  untyped: (schema, { keyword = "" }) => valued.has(keyword) && !has(schema, ...typed),
  "unknown-keyword": (schema) => has(schema, ...geminiUnknown),
  format: ({ format }) => typeof format === "string" && !geminiFormats.has(format),
  condition: (schema, place) => !isRoot(place) && has(schema, ...conditions),
  pattern: ({ pattern }) => typeof pattern === "string" && hasLookaround(pattern),
  depth: (schema, { depth }) => depth > maxDepth && has(schema, "properties", "items")
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- keys of `tests`
const ofInput = Object.entries(tests).map(([rule, test]) => ({ rule: rule as RuleId, test }))
/** Hosts validate results against the output schema, but no model sees it. */
const outputRules: ReadonlySet<RuleId> = new Set(["recursion", "broken-reference", "dialect", "old-tuple", "old-bound"])
const ofOutput = ofInput.filter(({ rule }) => outputRules.has(rule))

const inSchema = (
  part: "inputSchema" | "outputSchema",
  root: JsonObject,
  checks: typeof ofInput
): ReadonlyArray<Obstacle> => {
  const references = new References(root)
  const found: Array<Obstacle> = []
  for (const place of placesOf(root)) {
    const { at, keyword = "", schema } = place
    if (found.length >= maxObstacles) break
    if (typeof schema === "boolean") {
      if (part === "inputSchema" && valued.has(keyword)) found.push({ rule: "boolean-schema", part, at })
      continue
    }
    for (const { rule, test } of checks) if (test(schema, place, references)) found.push({ rule, part, at })
  }
  return found
}

/** Returns the obstacles in an input schema. */
export const ofInputSchema = (schema: JsonObject): ReadonlyArray<Obstacle> => {
  const { properties } = schema
  const names = isJsonObject(properties) ? Object.keys(properties).filter((name) => !isPropertyName(name)) : []
  return [
    ...inSchema("inputSchema", schema, ofInput),
    ...names.map((name) => ({
      rule: "property-name" as const,
      part: "inputSchema" as const,
      at: `/properties/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
    }))
  ]
}

/** Returns the obstacles in an output schema. */
export const ofOutputSchema = (schema: JsonObject): ReadonlyArray<Obstacle> =>
  inSchema("outputSchema", schema, ofOutput)

/**
 * Returns the parts of a tool that some host cannot handle, in the order of the tool's fields. At most about 100 per
 * schema.
 */
export const obstacles = (tool: Described): ReadonlyArray<Obstacle> => {
  const { description = "", inputSchema, name, outputSchema } = tool
  return [
    ...(isToolName(name) ? [] : [{ rule: "tool-name" as const, part: "name" as const, at: "" }]),
    ...(description.length <= maxDescription
      ? []
      : [{ rule: "description" as const, part: "description" as const, at: "" }]),
    ...ofInputSchema(inputSchema),
    ...(outputSchema === undefined ? [] : ofOutputSchema(outputSchema))
  ]
}
