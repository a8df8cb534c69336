/**
 * Validates unknown JSON against a JSON Schema of a peer or a user: 2020-12, or draft-07 where `$schema` names it.
 *
 * Owns the checks around `@cfworker/json-schema`, which interprets schemas: it needs no `eval`, so it runs in Workers. It passes the
 * official test suite for both drafts except for `$dynamicRef`, formats (it always asserts them) and a case of nested `$id`. Therefore
 * a schema is first rebuilt from the keywords of its draft: formats are left out unless asked for; `$dynamicRef` becomes `$ref`, which
 * is the same as long as there is one schema resource; a malformed keyword is found now and not when a value arrives.
 * Ajv knows `$dynamicRef`, but compiles with `new Function`.
 *
 * Refuses, as `UnsupportedSchema`: other dialects, references that lead outside the document (nothing is ever fetched); references
 * that return to themselves without descending into the value, `$dynamicRef` across several `$id`s, and excessive size or depth.
 * Bounded: value depth, and reference steps in proportion to the value's size (a small recursive schema can otherwise take
 * exponential time). A `pattern` is matched without backtracking (`LinearPattern`), so no schema and no value blocks the process.
 */
import { validate, type OutputUnit } from "@cfworker/json-schema"
import * as Result from "effect/Result"
import { excerpt } from "../Excerpt.ts"
import { longestBacktracked } from "./LinearPattern.ts"
import { allow, defaults, escape, patternFormat, prepare, UnsupportedSchema, type Prepared } from "./PreparedSchema.ts"

export { UnsupportedSchema } from "./PreparedSchema.ts"

/** One violation of the schema; `path` is a JSON Pointer into the value, empty for the value itself. */
export interface SchemaViolation {
  readonly path: string
  readonly message: string
}
/** The violations of a value, at most 10; none if it is valid. Never throws. */
export type Validator = (value: unknown) => ReadonlyArray<SchemaViolation>

export interface Options {
  /** Deepest nesting of a value, of a schema, and of a chain of references; default 64. */
  readonly maxDepth?: number
  /** Assert `format` instead of ignoring it; unknown formats are always ignored. Default false. */
  readonly formats?: boolean
}

/** Longest array in a value where the schema uses `uniqueItems`, whose check is quadratic. */
export const maxUniqueItems = 5000
const maxViolations = 10
/** Steps of all patterns for one value: about a second. */
const patternSteps = 20_000_000
/** Steps of matching all names against `patternProperties` for one value: about a second. */
const keyedSteps = 500_000_000

/** Prepares a schema; keep the validator, since this costs as much as many validations. */
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
  // The interpreter looks up every reference it follows, which is where runaway work can be stopped.
  const counted = new Proxy(lookup, {
    get: (schemas, uri) => {
      if (steps-- <= 0) throw new Error("the schema is too complex for it")
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

/** The cost of matching the names of one object against `patternProperties`. */
interface Names {
  /** Steps for a name of this length. */
  readonly steps: (length: number) => number
  /** Steps for all names of the object that needs the most. */
  most: number
}

/** The number of values inside a value, or why it is not even looked at. */
const measure = (
  value: unknown,
  depth: number,
  unique: boolean,
  names: Names | undefined
): number | SchemaViolation => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return 1
  if (typeof value === "number" && Number.isFinite(value)) return 1
  if (typeof value !== "object") return { path: "", message: "Is not JSON." }
  if (depth <= 0) return { path: "", message: "Is nested too deeply." }
  if (unique && Array.isArray(value) && value.length > maxUniqueItems) {
    return { path: "", message: `Has more than ${maxUniqueItems} items, and they would have to be unique.` }
  }
  let size = 1
  let steps = 0
  for (const key in value) {
    if (!key.isWellFormed())
      return { path: "", message: `Has the key ${excerpt(JSON.stringify(key))}, which is no Unicode text.` }
    if (names !== undefined && key.length > longestBacktracked)
      return {
        path: "",
        message: `Has a key of more than ${longestBacktracked} characters, and the schema has patternProperties.`
      }
    if (names !== undefined && !Array.isArray(value)) steps += names.steps(key.length)
    const inner = measure(Reflect.get(value, key), depth - 1, unique, names)
    if (typeof inner !== "number") return { path: `/${escape(key)}${inner.path}`, message: inner.message }
    size += inner
  }
  if (names !== undefined) names.most = Math.max(names.most, steps)
  return size
}

// The interpreter reports every applicator on the way to a violation. Those only repeat what follows, or are all there is to say.
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
