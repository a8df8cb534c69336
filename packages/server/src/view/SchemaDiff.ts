/**
 * What a change of a JSON Schema means to clients, as sentences: property by property at the root, as a whole below.
 *
 * Owns `Change`. A change that is not known to be harmless counts as breaking.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { canonicalJson } from "@effect-mcp/core/internal/canonicalJson"

/** One difference of two contracts. */
export interface Change {
  readonly kind: "added" | "removed" | "changed"
  /** Whether a client that relies on the contract may fail: said where it cannot be ruled out. */
  readonly breaking: boolean
  readonly message: string
}

/** Compares one field of `owner`; called where it differs. */
export type Compare = (owner: string, before: unknown, after: unknown) => ReadonlyArray<Change>

export const changed = (message: string, breaking: boolean): Change => ({ kind: "changed", breaking, message })

/** Whether two values are equal as JSON; undefined is a value of its own. */
export const isSame = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b)

/** Keywords that admit and refuse nothing. */
const annotations = new Set(["$comment", "default", "deprecated", "description", "examples", "title"])
/** Keywords whose keys are names of properties or definitions. */
const named = new Set([
  "$defs",
  "definitions",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "properties"
])
/** Keywords beside `properties` and `required` that leave values of other properties free. */
const neutral = new Set(["$defs", "$id", "$schema", "definitions", "type"])
/** Keywords whose values are data. */
const data = new Set(["const", "enum"])

/** A schema without its annotations. */
const meaning = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(meaning)
  if (!isJsonObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if (annotations.has(key)) return []
      if (data.has(key)) return [[key, value]]
      if (!named.has(key) || !isJsonObject(value)) return [[key, meaning(value)]]
      return [[key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, meaning(inner)]))]]
    })
  )
}

interface Shape {
  readonly properties: JsonObject
  readonly required: ReadonlySet<unknown>
  /** The other keywords of the root. */
  readonly rest: JsonObject
}

const shapeOf = (schema: unknown): Shape => {
  const { properties, required, ...rest } = isJsonObject(schema) ? schema : {}
  return {
    properties: isJsonObject(properties) ? properties : {},
    required: new Set(Array.isArray(required) ? required : []),
    rest
  }
}

const isRefusing = ({ rest }: Shape): boolean => rest["additionalProperties"] === false
/** Whether another property may have any value. */
const isOpen = ({ rest }: Shape): boolean =>
  Object.keys(rest).every((key) => neutral.has(key) || annotations.has(key) || rest[key] === true)

const property = (owner: string, name: string, before: Shape, after: Shape, sent: boolean): ReadonlyArray<Change> => {
  const quoted = JSON.stringify(name)
  const has = Object.hasOwn(after.properties, name)
  const had = Object.hasOwn(before.properties, name)
  if (had && !has) return [changed(`${owner} ${sent ? "takes" : "gives"} no ${quoted} any more`, true)]
  // A rule of the old schema for other properties may differ in the new one.
  const clashes = has && !had && !isOpen(before) && !(sent && isRefusing(before))
  const [was, is] = [before.required.has(name), after.required.has(name)]
  const changes: Array<Change> = []
  if (is && !was) changes.push(changed(`${owner} ${sent ? "requires" : "always gives"} ${quoted}`, sent || clashes))
  else if (was && !is)
    changes.push(changed(`${owner} ${sent ? "does not require" : "may lack"} ${quoted}`, !sent || clashes))
  else if (has && !had) changes.push(changed(`${owner} ${sent ? "takes" : "gives"} ${quoted}`, clashes))
  if (!had || isSame(before.properties[name], after.properties[name])) return changes
  const harmless = isSame(meaning(before.properties[name]), meaning(after.properties[name]))
  return [...changes, changed(`${owner} ${harmless ? "describes" : "changes"} its ${quoted}`, !harmless)]
}

const restMeaning = (shape: Shape, without: ReadonlySet<string>): unknown =>
  meaning(Object.fromEntries(Object.entries(shape.rest).filter(([key]) => !without.has(key))))

/** Compares schemas of objects. `sent`: clients send what the schema describes; else they receive it. */
export const schemas =
  (noun: string, sent: boolean): Compare =>
  (owner, before, after) => {
    if (before === undefined) return [changed(`${owner} has an ${noun} now`, sent)]
    if (after === undefined) return [changed(`${owner} has no ${noun} any more`, !sent)]
    const [old, now] = [shapeOf(before), shapeOf(after)]
    const names = [old, now].flatMap(({ properties, required }) => [...Object.keys(properties), ...required])
    const changes = [...new Set(names.map(String))].toSorted().flatMap((name) => property(owner, name, old, now, sent))
    if (isSame(old.rest, now.rest)) return changes
    // The narrower side refuses other properties: what a client sends, or expects, is within the wider one.
    const ignored = new Set(isRefusing(sent ? old : now) ? ["additionalProperties"] : [])
    return [
      ...changes,
      changed(`${owner} changes its ${noun}`, !isSame(restMeaning(old, ignored), restMeaning(now, ignored)))
    ]
  }
