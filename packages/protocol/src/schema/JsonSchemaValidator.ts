/**
 * Validates unknown JSON against a JSON Schema from a peer or a user: 2020-12, or draft-07 if `$schema` says so.
 *
 * Builds on `@cfworker/json-schema`, which interprets schemas. It doesn't need `eval`, so it runs in Workers. It passes the official test
 * suite for both drafts except for `$dynamicRef`, formats (which it always asserts) and one case of nested `$id`. Schemas are therefore
 * rebuilt from the keywords of their draft before use. Formats are removed unless requested. `$dynamicRef` becomes `$ref`, which is
 * equivalent as long as there is a single schema resource. A malformed keyword is reported immediately, not when a value arrives. Ajv
 * supports `$dynamicRef`, but compiles schemas with `new Function`.
 *
 * Rejects the following as `UnsupportedSchema`: other dialects, references outside the document (nothing is ever fetched), references that
 * form a cycle without descending into the value, `$dynamicRef` across multiple `$id`s, and schemas that are too large or too deep. Limits
 * value depth, and limits reference steps in proportion to the size of the value, because a small recursive schema could otherwise take
 * exponential time. A `pattern` is matched without backtracking (`LinearPattern`), so no schema or value can block the process.
 */
import { validate, type OutputUnit } from "@cfworker/json-schema"
import * as Result from "effect/Result"
import { excerpt } from "../Excerpt.ts"
import { longestBacktracked } from "./LinearPattern.ts"
import { allow, defaults, escape, patternFormat, prepare, UnsupportedSchema, type Prepared } from "./PreparedSchema.ts"

export { UnsupportedSchema } from "./PreparedSchema.ts"

/** A schema violation. `path` is a JSON Pointer to the invalid value, empty for the root. */
export interface SchemaViolation {
  readonly path: string
  readonly message: string
}
/** Returns a value's violations, at most 10, or an empty array if it is valid. Never throws. */
export type Validator = (value: unknown) => ReadonlyArray<SchemaViolation>

export interface Options {
  /** Maximum nesting of values, schemas and chains of references. Default 64. */
  readonly maxDepth?: number
  /** Whether to check `format` instead of ignoring it. Unknown formats are always ignored. Default false. */
  readonly formats?: boolean
}

/** Maximum array length if the schema uses `uniqueItems`, because the check is quadratic. */
export const maxUniqueItems = 5000
const maxViolations = 10
/** Maximum steps for all patterns on one value: about a second. */
const patternSteps = 20_000_000
/** Maximum steps to match property names against `patternProperties` for one value: about a second. */
const keyedSteps = 500_000_000

/** Compiles a schema. Reuse the validator, because compiling costs as much as many validations. */
export const compile = (schema: unknown, options: Options = {}): Result.Result<Validator, UnsupportedSchema> =>
  Result.try({
    try: () => {
      const { formats = defaults.formats, maxDepth = defaults.maxDepth } = options
      return makeValidator(prepare(schema, { formats, maxDepth }), maxDepth)
    },
    catch: (cause) => {
      if (cause instanceof UnsupportedSchema) return cause
      throw cause
    }
  })

const makeValidator = ({ draft, keySteps, lookup, root, unique }: Prepared, maxDepth: number): Validator => {
  let steps = 0
  // The interpreter looks up every reference that it follows, so the lookup is where runaway work can be stopped.
  const counted = new Proxy(lookup, {
    get: (schemas, uri) => {
      if (steps-- <= 0) throw new Error("the schema is too complex to check it")
      return Reflect.get(schemas, uri)
    }
  })
  return (value) => {
    const names = keySteps && { steps: keySteps, most: 0 }
    const size = measure(value, maxDepth, unique, names)
    if (typeof size !== "number") return [size]
    const run = (shortCircuit: boolean) => {
      steps = Math.min(5_000_000, 10_000 + 100 * size)
      allow({ steps: patternSteps, ofKeys: keyedSteps, perObject: names?.most ?? 0 })
      return validate(value, root, draft, counted, shortCircuit)
    }
    let first: ReadonlyArray<OutputUnit>
    try {
      const result = run(true)
      if (result.valid) return []
      first = result.errors
    } catch (cause) {
      return [
        { path: "", message: `Cannot be checked: ${excerpt(cause instanceof Error ? cause.message : String(cause))}` }
      ]
    }
    try {
      return report(run(false).errors)
    } catch {
      return report(first) // Too many errors to list; the first one is enough.
    }
  }
}

/** Cost of matching one object's property names against `patternProperties`. */
interface Names {
  /** Returns the steps for a name of this length. */
  readonly steps: (length: number) => number
  /** Steps for all property names of the most expensive object. */
  most: number
}

/** Returns the number of values inside a value, or the reason why it cannot be validated. */
const measure = (
  value: unknown,
  depth: number,
  unique: boolean,
  names: Names | undefined
): number | SchemaViolation => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return 1
  if (typeof value === "number" && Number.isFinite(value)) return 1
  if (typeof value !== "object") return { path: "", message: "Is not valid JSON." }
  if (depth <= 0) return { path: "", message: "Is nested too deeply." }
  if (unique && Array.isArray(value) && value.length > maxUniqueItems) {
    return {
      path: "",
      message: `Has more than ${maxUniqueItems} items, which is too many to check whether they are unique.`
    }
  }
  let size = 1
  let steps = 0
  for (const key in value) {
    if (!key.isWellFormed())
      return { path: "", message: `Has the key ${excerpt(JSON.stringify(key))}, which is not valid Unicode.` }
    if (names !== undefined && key.length > longestBacktracked)
      return {
        path: "",
        message: `Has a key of more than ${longestBacktracked} characters, which is too long to match against patternProperties.`
      }
    if (names !== undefined && !Array.isArray(value)) steps += names.steps(key.length)
    const inner = measure(Reflect.get(value, key), depth - 1, unique, names)
    if (typeof inner !== "number") return { path: `/${escape(key)}${inner.path}`, message: inner.message }
    size += inner
  }
  if (names !== undefined) names.most = Math.max(names.most, steps)
  return size
}

// The interpreter reports every applicator on the way to a violation. These either repeat the errors that follow or are
// the only errors.
const summaries = ["anyOf", "oneOf", "contains", "propertyNames"]
const wrappers = ["$ref", "allOf", "if", "properties", "patternProperties", "additionalProperties", "items"].concat([
  "prefixItems",
  "additionalItems",
  "unevaluatedProperties",
  "unevaluatedItems",
  "dependentSchemas",
  "dependencies"
])

const report = (units: ReadonlyArray<OutputUnit>): ReadonlyArray<SchemaViolation> => {
  const told: Array<OutputUnit> = []
  let summary = "none"
  for (const [index, unit] of units.entries()) {
    const next = units[index + 1]
    if (unit.keywordLocation.startsWith(summary)) continue
    if (summaries.includes(unit.keyword)) summary = `${unit.keywordLocation}/`
    if (wrappers.includes(unit.keyword) && next !== undefined && next.keyword !== "false") continue
    if (unit.keyword === "false" && wrappers.includes(units[index - 1]?.keyword ?? "")) continue
    told.push(unit)
    if (told.length === maxViolations) break
  }
  return told.map(({ error, instanceLocation }) => ({
    path: decodeURIComponent(instanceLocation.slice(1)),
    message: error.includes(patternFormat) ? "String does not match pattern." : excerpt(error, 199)
  }))
}
