/**
 * Describes in sentences how a JSON Schema change affects clients: property by property at the root, and as a whole below it.
 *
 * Owns `Change`. A change counts as breaking unless it is known to be harmless. Used by the contract of a server and by a host's pins.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { canonicalJson } from "./digest.ts"

/** A difference between two contracts. */
export interface Change {
  readonly kind: "added" | "removed" | "changed"
  /** True if a client that relies on the contract may fail, or if that can't be ruled out. */
  readonly breaking: boolean
  readonly message: string
}

/** Compares one of `owner`'s fields. Only called if they differ. */
export type Compare = (owner: string, before: unknown, after: unknown) => ReadonlyArray<Change>

export const changed = (message: string, breaking: boolean): Change => ({ kind: "changed", breaking, message })

/** True if two values are equal as JSON. `undefined` is a distinct value. */
export const isSame = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b)

/** Keywords that don't affect validation. */
const annotations = new Set(["$comment", "default", "deprecated", "description", "examples", "title"])
/** Keywords whose keys are property or definition names. */
const named = new Set([
  "$defs",
  "definitions",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "properties"
])
/** Keywords besides `properties` and `required` that don't constrain other properties. */
const neutral = new Set(["$defs", "$id", "$schema", "definitions", "type"])
/** Keywords whose values are data. */
const data = new Set(["const", "enum"])

/** Removes a schema's annotations. */
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
  /** The root's other keywords. */
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
/** True if other properties may have any value. */
const isOpen = ({ rest }: Shape): boolean =>
  Object.keys(rest).every((key) => neutral.has(key) || annotations.has(key) || rest[key] === true)

const property = (owner: string, name: string, before: Shape, after: Shape, sent: boolean): ReadonlyArray<Change> => {
  const quoted = JSON.stringify(name)
  const has = Object.hasOwn(after.properties, name)
  const had = Object.hasOwn(before.properties, name)
  if (had && !has) return [changed(`${owner} no longer ${sent ? "accepts" : "returns"} ${quoted}`, true)]
  // A rule of the old schema for other properties may contradict the new one.
  const clashes = has && !had && !isOpen(before) && !(sent && isRefusing(before))
  const [was, is] = [before.required.has(name), after.required.has(name)]
  const changes: Array<Change> = []
  if (is && !was) changes.push(changed(`${owner} ${sent ? "requires" : "always returns"} ${quoted}`, sent || clashes))
  else if (was && !is)
    changes.push(changed(`${owner} ${sent ? "no longer requires" : "may omit"} ${quoted}`, !sent || clashes))
  else if (has && !had) changes.push(changed(`${owner} ${sent ? "accepts" : "returns"} ${quoted}`, clashes))
  if (!had || isSame(before.properties[name], after.properties[name])) return changes
  const harmless = isSame(meaning(before.properties[name]), meaning(after.properties[name]))
  return [...changes, changed(`${owner} changed ${harmless ? "the documentation of" : "its"} ${quoted}`, !harmless)]
}

const restMeaning = (shape: Shape, without: ReadonlySet<string>): unknown =>
  meaning(Object.fromEntries(Object.entries(shape.rest).filter(([key]) => !without.has(key))))

/** Compares object schemas. `sent` means that clients send values matching the schema; otherwise they receive them. */
export const schemas =
  (noun: string, sent: boolean): Compare =>
  (owner, before, after) => {
    if (before === undefined) return [changed(`${owner} now has an ${noun}`, sent)]
    if (after === undefined) return [changed(`${owner} no longer has an ${noun}`, !sent)]
    const [old, now] = [shapeOf(before), shapeOf(after)]
    const names = [old, now].flatMap(({ properties, required }) => [...Object.keys(properties), ...required])
    const changes = [...new Set(names.map(String))].toSorted().flatMap((name) => property(owner, name, old, now, sent))
    if (isSame(old.rest, now.rest)) return changes
    // The narrower side forbids other properties, so everything that a client sends or expects is within the wider side.
    const ignored = new Set(isRefusing(sent ? old : now) ? ["additionalProperties"] : [])
    return [
      ...changes,
      changed(`${owner} changed its ${noun}`, !isSame(restMeaning(old, ignored), restMeaning(now, ignored)))
    ]
  }

/** Compares a prompt's arguments as an object schema. */
export const promptArguments: Compare = (owner, before, after) => {
  const schemaOf = (value: unknown) => {
    const all = Array.isArray(value) ? value.filter(isJsonObject) : []
    return {
      properties: Object.fromEntries(all.map(({ name, required: _required, ...rest }) => [String(name), rest])),
      required: all.flatMap(({ name, required }) => (required === true ? [name] : []))
    }
  }
  return schemas("arguments", true)(owner, schemaOf(before), schemaOf(after))
}
