/**
 * Rewrites individual schemas for hosts that cannot use some of their keywords.
 *
 * Each function returns a schema that accepts at least the values of the given schema. Dropped constraints are
 * mentioned in its description.
 */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { intersected } from "./intersect.ts"
import { geminiFormats, geminiUnknown, hasLookaround } from "./vocabulary.ts"
import { either, quoted, say } from "./words.ts"

const without = (schema: JsonObject, ...keywords: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !keywords.includes(key)))

/** Draft 4: a boolean makes the other bound exclusive. */
const oldBounds = (schema: JsonObject): JsonObject => {
  let out = schema
  for (const [exclusive, inclusive] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"]
  ] as const) {
    const { [exclusive]: flag, [inclusive]: limit } = out
    if (typeof flag !== "boolean") continue
    out = without(out, exclusive)
    if (flag && typeof limit === "number") out = { ...without(out, inclusive), [exclusive]: limit }
  }
  return out
}

/** Draft 7: a list in `items` describes a tuple. */
const oldTuples = (schema: JsonObject): JsonObject => {
  const { items, additionalItems, ...rest } = schema
  if (!Array.isArray(items)) return schema
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? undefined : { items: additionalItems }) }
}

const inclusiveBounds = (schema: JsonObject): JsonObject => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, type } = schema
  let out = without(schema, "exclusiveMinimum", "exclusiveMaximum")
  const isInteger = type === "integer"
  if (typeof exclusiveMinimum === "number") {
    const bound = isInteger ? Math.floor(exclusiveMinimum) + 1 : exclusiveMinimum
    out = { ...out, minimum: typeof minimum === "number" ? Math.max(minimum, bound) : bound }
    if (!isInteger) out = say(out, `Greater than ${exclusiveMinimum}.`)
  }
  if (typeof exclusiveMaximum === "number") {
    const bound = isInteger ? Math.ceil(exclusiveMaximum) - 1 : exclusiveMaximum
    out = { ...out, maximum: typeof maximum === "number" ? Math.min(maximum, bound) : bound }
    if (!isInteger) out = say(out, `Less than ${exclusiveMaximum}.`)
  }
  return out
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
const distinct = (schemas: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  schemas.filter((schema, at) => schemas.findIndex((other) => isSame(schema, other)) === at)

/** Returns a schema for values that match any of the given schemas. */
export const anyOf = (schemas: ReadonlyArray<unknown>): JsonObject => {
  const members = distinct(
    schemas.flatMap((schema): ReadonlyArray<unknown> => {
      if (!isJsonObject(schema)) return [schema]
      const { anyOf: inner, ...rest } = schema
      return Array.isArray(inner) && Object.keys(rest).length === 0 ? inner : [schema]
    })
  )
  const [only] = members
  if (members.length === 1 && isJsonObject(only)) return only
  return members.every((member) => isJsonObject(member) && Object.keys(member).length > 0) ? { anyOf: members } : {}
}

const kindOf = (schema: unknown): string | undefined => {
  if (!isJsonObject(schema)) return undefined
  const { description, enum: values, title, type } = schema
  if (typeof title === "string") return title
  if (typeof description === "string" && description.length < 80) return description.replace(/\.$/, "")
  if (Array.isArray(values)) return either(values.map((value) => JSON.stringify(value)))
  return typeof type === "string" ? type : undefined
}

const tuples = (schema: JsonObject): JsonObject => {
  const { items, prefixItems, ...rest } = schema
  if (!Array.isArray(prefixItems)) return schema
  const closed = items === false
  const { maxItems } = rest
  const rests = closed || (typeof maxItems === "number" && maxItems <= prefixItems.length) ? [] : [items ?? {}]
  const kinds = prefixItems.map(kindOf)
  const order = kinds.every((kind) => kind !== undefined)
    ? `In this order: ${kinds.map((kind, at) => `${at + 1}. ${kind}`).join(", ")}.`
    : undefined
  const most = typeof maxItems === "number" ? Math.min(maxItems, prefixItems.length) : prefixItems.length
  const out = { ...rest, items: anyOf([...prefixItems, ...rests]), ...(closed ? { maxItems: most } : undefined) }
  return say(out, order)
}

const isArray = ({ type }: JsonObject): boolean => type === "array" || (Array.isArray(type) && type.includes("array"))
const arrayItems = (schema: JsonObject): JsonObject => {
  const { items } = schema
  if (items === undefined) return isArray(schema) ? { ...schema, items: {} } : schema
  if (typeof items === "boolean") return { ...schema, items: {}, ...(items ? undefined : { maxItems: 0 }) }
  return schema
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value
}

const numbers = (values: ReadonlyArray<number>): JsonObject => {
  const sorted = values.toSorted((one, other) => one - other)
  const minimum = sorted[0] ?? 0
  const maximum = sorted.at(-1) ?? 0
  const isRange = sorted.every((value, at) => value === minimum + at)
  const schema = { type: values.every(Number.isInteger) ? "integer" : "number", minimum, maximum }
  return isRange ? schema : say(schema, `One of ${values.join(", ")}.`)
}

/** Returns schemas for an `enum`'s values, one per type. */
const choices = (values: ReadonlyArray<unknown>): ReadonlyArray<JsonObject> => {
  const strings = values.filter((value) => typeof value === "string")
  const figures = values.filter((value) => typeof value === "number")
  const booleans = new Set(values.filter((value) => typeof value === "boolean"))
  const [only] = booleans
  return [
    ...(strings.length === 0 ? [] : [{ type: "string", enum: strings }]),
    ...(figures.length === 0 ? [] : [numbers(figures)]),
    ...(booleans.size === 0 ? [] : [say({ type: "boolean" }, booleans.size === 1 ? `Always ${only}.` : undefined)]),
    ...(values.includes(null) ? [{ type: "null" }] : []),
    ...values
      .filter((value) => typeof value === "object" && value !== null)
      .map((value) =>
        say({ type: typeOf(value), ...(Array.isArray(value) ? { items: {} } : undefined) }, equals(value))
      )
  ]
}
const equals = (value: unknown): string | undefined => {
  const text = quoted(value)
  return text === undefined ? undefined : `Equal to ${text}.`
}

const enums = (schema: JsonObject): JsonObject => {
  const { const: value, enum: listed, type, ...rest } = schema
  const values: ReadonlyArray<unknown> | undefined =
    "const" in schema ? [value] : Array.isArray(listed) ? listed : undefined
  if (
    values === undefined ||
    (type === "string" && listed === values && values.every((one) => typeof one === "string"))
  )
    return schema
  const types = Array.isArray(type) ? type : type === undefined ? undefined : [type]
  const isType = (one: unknown): boolean =>
    types === undefined || types.includes(typeOf(one)) || (typeof one === "number" && types.includes("number"))
  const [only, ...others] = choices(values.filter(isType))
  if (only === undefined) return schema
  if (others.length > 0) return { ...without(rest, "anyOf"), anyOf: [only, ...others] }
  const { description, ...chosen } = only
  return say({ ...rest, ...chosen }, typeof description === "string" ? description : undefined)
}

/** Keywords that only affect values of one type. */
const keywordsOf: { readonly [type: string]: ReadonlyArray<string> } = {
  string: ["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  array: ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"],
  object: [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties"
  ]
}
const typed = new Set(Object.values(keywordsOf).flat())

/** Rewrites for a single type. */
const ofOneType = (schema: JsonObject): JsonObject =>
  [tuples, arrayItems, inclusiveBounds, patterns, formats, unknownKeywords].reduce((out, mend) => mend(out), schema)

const typeLists = (schema: JsonObject): JsonObject => {
  const { type, ...rest } = schema
  if (!Array.isArray(type)) return schema
  const [only, ...others] = type.filter((name) => typeof name === "string")
  if (only === undefined || "anyOf" in schema) return rest
  if (others.length === 0) return { ...rest, type: only }
  const common = Object.entries(rest).filter(([key]) => !typed.has(key))
  const members = [only, ...others].map((name) => ({
    type: name,
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => keywordsOf[name]?.includes(key) === true))
  }))
  return { ...Object.fromEntries(common), anyOf: members.map(ofOneType) }
}

const intersections = (schema: JsonObject): JsonObject => {
  const { allOf, ...rest } = schema
  return Array.isArray(allOf) ? allOf.filter(isJsonObject).reduce(intersected, rest) : schema
}

const unions = (schema: JsonObject): JsonObject => {
  const { anyOf: given, oneOf, discriminator: _, ...rest } = schema
  const members = Array.isArray(given) ? given : oneOf
  if (!Array.isArray(members)) return schema
  if (members.some((member) => member === true)) return rest
  const possible = members.filter(isJsonObject)
  const [only] = possible
  if (only === undefined) return rest
  return possible.length === 1 ? intersected(rest, only) : { ...rest, anyOf: possible }
}

const unknownKeywords = (schema: JsonObject): JsonObject => {
  const { additionalProperties, multipleOf, patternProperties, propertyNames, uniqueItems } = schema
  let out = without(schema, ...geminiUnknown)
  if (typeof multipleOf === "number") out = say(out, `A multiple of ${multipleOf}.`)
  if (uniqueItems === true) out = say(out, "Without duplicates.")
  if (isJsonObject(propertyNames)) {
    const text = quoted(propertyNames["pattern"] ?? propertyNames["enum"])
    out = say(out, text === undefined ? undefined : `Names of properties match ${text}.`)
  }
  if (isJsonObject(patternProperties)) {
    const schemas = Object.values(patternProperties)
    out = without(out, "additionalProperties")
    if (additionalProperties === false) out = { ...out, additionalProperties: anyOf(schemas) }
    out = say(out, namesOf(Object.keys(patternProperties)))
  }
  return out
}
const namesOf = (patterns: ReadonlyArray<string>): string | undefined => {
  const text = quoted(patterns)
  return text === undefined ? undefined : `Names of other properties match one of ${text}.`
}

const formats = (schema: JsonObject): JsonObject => {
  const { format } = schema
  if (typeof format !== "string" || geminiFormats.has(format)) return schema
  return say(without(schema, "format"), `Format: ${format}.`)
}

const patterns = (schema: JsonObject): JsonObject => {
  const { pattern } = schema
  if (typeof pattern !== "string" || !hasLookaround(pattern)) return schema
  const text = quoted(pattern)
  return say(without(schema, "pattern"), text === undefined ? undefined : `Matches the pattern ${text}.`)
}

/** Removes properties that no value can have, and schemas that add nothing because they accept everything. */
const booleans = (schema: JsonObject): JsonObject => {
  const { additionalProperties, properties } = schema
  let out = schema
  if (isJsonObject(properties)) {
    const possible = Object.entries(properties).filter(([, inner]) => inner !== false)
    out = { ...out, properties: Object.fromEntries(possible.map(([key, inner]) => [key, inner === true ? {} : inner])) }
  }
  return isJsonObject(additionalProperties) && Object.keys(additionalProperties).length === 0
    ? without(out, "additionalProperties")
    : out
}

/** The rewrites of the two older drafts, which do not change the meaning of a schema. */
export const modern = (schema: JsonObject): JsonObject => oldTuples(oldBounds(schema))

/** Applies every rewrite to one schema whose inner schemas have already been rewritten. */
export const mended = (schema: JsonObject): JsonObject =>
  [modern, booleans, intersections, unions, enums, typeLists, ofOneType].reduce((out, mend) => mend(out), schema)

/** Applies the rewrites for an input schema's root, whose alternatives are merged elsewhere. */
export const mendedRoot = (schema: JsonObject): JsonObject => unknownKeywords(booleans(modern(schema)))
