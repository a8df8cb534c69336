/** Reads the server's JSON Schemas for forms: references, kinds of fields, first values and examples. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { memoize } from "effect/Function"

/** Maximum nesting of forms and examples. Anything deeper is edited as JSON. */
export const mostDepth = 8
/** Maximum number of values in a first value or an example. */
const mostValues = 100

export const isObject: (value: unknown) => value is JsonObject = isJsonObject

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
/** Formats a value for a field: text unchanged, other values as JSON, and nothing if there is no value. */
export const textOf = (value: unknown): string => text(value) ?? JSON.stringify(value) ?? ""
const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const lookup = (root: JsonObject, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, part) => {
      if (Array.isArray(at)) return at[Number(part)]
      return isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
    }, root)

/** Resolved schemas of a document, by schema. */
const resolvedIn = memoize((_root: JsonObject) => new Map<JsonObject, JsonObject>())

/**
 * Follows local references and merges `allOf`, once for each schema: a few schemas that refer to each other can have billions of parts. A
 * schema that can't be followed accepts anything.
 */
export const resolve = (schema: unknown, root: JsonObject): JsonObject => {
  if (!isObject(schema)) return {}
  const known = resolvedIn(root)
  const before = known.get(schema)
  if (before !== undefined) return before
  // Found again while it is followed, a schema accepts anything.
  known.set(schema, {})
  const merged = followed(schema, root)
  known.set(schema, merged)
  return merged
}

const followed = ({ $ref, allOf, ...own }: JsonObject, root: JsonObject): JsonObject => {
  let merged: JsonObject = own
  try {
    if (typeof $ref === "string" && $ref.startsWith("#")) {
      merged = { ...resolve(lookup(root, $ref), root), ...own }
    }
  } catch {
    return own
  }
  for (const part of list(allOf)) {
    const { properties, required, ...rest } = resolve(part, root)
    merged = {
      ...rest,
      ...merged,
      ...(isObject(properties)
        ? { properties: { ...properties, ...(isObject(merged["properties"]) ? merged["properties"] : {}) } }
        : undefined),
      ...(Array.isArray(required) ? { required: [...new Set([...list(merged["required"]), ...required])] } : undefined)
    }
  }
  return merged
}

/** A choice with its title. */
export interface SchemaChoice {
  readonly value: unknown
  readonly title: string
}

/** A member of a union. */
export interface Variant {
  readonly schema: JsonObject
  readonly title: string
}

/** How a schema is edited. */
export type FieldKind =
  | { readonly _tag: "Array"; readonly items: unknown }
  | { readonly _tag: "Boolean" }
  | { readonly _tag: "Choice"; readonly choices: ReadonlyArray<SchemaChoice> }
  | { readonly _tag: "Json" }
  | { readonly _tag: "Many"; readonly choices: ReadonlyArray<SchemaChoice> }
  | { readonly _tag: "Number"; readonly integer: boolean }
  | {
      readonly _tag: "Object"
      readonly properties: ReadonlyArray<readonly [name: string, schema: unknown]>
      /** Names of the required properties. */
      readonly needed: ReadonlyArray<unknown>
      /** Schema for additional properties, or `undefined` if there are none. */
      readonly others: unknown
    }
  | { readonly _tag: "Text"; readonly format: string | undefined; readonly long: boolean }
  | { readonly _tag: "Union"; readonly variants: ReadonlyArray<Variant> }

const titleOf = (schema: JsonObject, index: number): string => {
  const { const: only, properties, title, type } = schema
  if (typeof title === "string") return title
  if (only !== undefined) return JSON.stringify(only)
  if (isObject(properties)) {
    // A discriminator distinguishes the members.
    for (const [name, property] of Object.entries(properties)) {
      if (isObject(property) && property["const"] !== undefined) return `${name}: ${JSON.stringify(property["const"])}`
    }
  }
  return typeof type === "string" ? type : `Option ${index + 1}`
}

const choicesOf = (schema: JsonObject, root: JsonObject): ReadonlyArray<SchemaChoice> | undefined => {
  const { enum: values, enumNames, oneOf, anyOf } = schema
  if (Array.isArray(values)) {
    const names = list(enumNames)
    return values.map((value, at) => ({ value, title: text(names[at]) ?? text(value) ?? JSON.stringify(value) }))
  }
  const members = [...list(oneOf), ...list(anyOf)].map((each) => resolve(each, root))
  if (members.length === 0 || !members.every((each) => Object.hasOwn(each, "const"))) return undefined
  return members.map(({ const: value, title }) => ({
    value,
    title: text(title) ?? text(value) ?? JSON.stringify(value)
  }))
}

/** Returns the kind of a schema that has been resolved. */
export const kindOf = (schema: JsonObject, root: JsonObject): FieldKind => {
  const {
    additionalProperties,
    anyOf,
    const: only,
    format,
    items,
    maxLength,
    oneOf,
    properties,
    required,
    type
  } = schema
  if (only !== undefined)
    return { _tag: "Choice", choices: [{ value: only, title: text(only) ?? JSON.stringify(only) }] }
  const choices = choicesOf(schema, root)
  if (choices !== undefined) return { _tag: "Choice", choices }
  const members = [...list(oneOf), ...list(anyOf)]
  if (members.length > 0) {
    const { anyOf: _, oneOf: __, ...base } = schema
    const variants = members.map((each) => resolve({ allOf: [each, base] }, root))
    return { _tag: "Union", variants: variants.map((each, at) => ({ schema: each, title: titleOf(each, at) })) }
  }
  if (Array.isArray(type)) {
    const types = type.filter((each) => typeof each === "string")
    return { _tag: "Union", variants: types.map((each) => ({ schema: { ...schema, type: each }, title: each })) }
  }
  switch (type) {
    case "string":
      return { _tag: "Text", format: text(format), long: format === undefined && (number(maxLength) ?? 1000) > 100 }
    case "integer":
    case "number":
      return { _tag: "Number", integer: type === "integer" }
    case "boolean":
      return { _tag: "Boolean" }
    case "null":
      return { _tag: "Choice", choices: [{ value: null, title: "null" }] }
    case "array": {
      const of = choicesOf(resolve(items, root), root)
      return of === undefined ? { _tag: "Array", items: items ?? {} } : { _tag: "Many", choices: of }
    }
    case "object": {
      const known = isObject(properties) ? Object.entries(properties) : []
      const isOpen = additionalProperties === true || (additionalProperties === undefined && known.length === 0)
      const others = isObject(additionalProperties) ? additionalProperties : isOpen ? true : undefined
      return { _tag: "Object", properties: known, needed: list(required), others }
    }
    default:
      return isObject(properties) ? kindOf({ ...schema, type: "object" }, root) : { _tag: "Json" }
  }
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value

/** True if the value has the type, constants and required properties of the schema. */
export const resembles = (given: unknown, root: JsonObject, value: unknown): boolean => {
  const { const: only, enum: values, properties, required, type } = resolve(given, root)
  const isSame = (other: unknown) => JSON.stringify(other) === JSON.stringify(value)
  if (only !== undefined) return isSame(only)
  if (Array.isArray(values)) return values.some(isSame)
  const is = typeOf(value)
  const types = [type].flat()
  if (type !== undefined && !types.includes(is) && !(is === "integer" && types.includes("number"))) return false
  if (!isObject(value)) return true
  const hasAll = list(required).every((name) => typeof name !== "string" || Object.hasOwn(value, name))
  const constants = Object.entries(isObject(properties) ? properties : {}).filter(
    ([name, property]) => Object.hasOwn(value, name) && isObject(property) && property["const"] !== undefined
  )
  return hasAll && constants.every(([name, property]) => resembles(property, root, value[name]))
}

/** The value that a field starts with: its default, or the smallest value that the form can edit. */
export const initial = (
  given: unknown,
  root: JsonObject,
  required = true,
  depth = 0,
  room = { left: mostValues }
): unknown => {
  const schema = resolve(given, root)
  if (Object.hasOwn(schema, "default")) return schema["default"]
  if (!required || depth > mostDepth || room.left-- <= 0) return undefined
  const kind = kindOf(schema, root)
  switch (kind._tag) {
    case "Object":
      return Object.fromEntries(
        kind.properties.flatMap(([name, property]) => {
          const value = initial(property, root, kind.needed.includes(name), depth + 1, room)
          return value === undefined ? [] : [[name, value]]
        })
      )
    case "Array":
    case "Many":
      return []
    case "Choice":
      return kind.choices.length === 1 ? kind.choices[0]?.value : undefined
    case "Union":
      return initial(kind.variants[0]?.schema, root, true, depth + 1, room)
    case "Boolean":
      return false
    case "Text":
      return ""
    default:
      return undefined
  }
}

const formats: { readonly [format: string]: string } = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  ipv4: "192.0.2.1",
  hostname: "example.com"
}

const exampleText = (schema: JsonObject): string => {
  const { format, maxLength, minLength } = schema
  const sample = formats[text(format) ?? ""] ?? "example"
  return sample.padEnd(Math.min(number(minLength) ?? 0, 200), "x").slice(0, number(maxLength) ?? sample.length + 200)
}

const exampleNumber = (schema: JsonObject): number => {
  const { exclusiveMinimum, maximum, minimum, multipleOf } = schema
  const step = number(multipleOf) ?? 1
  const least = number(minimum) ?? (number(exclusiveMinimum) ?? 0) + step
  return Math.min(Math.ceil(least / step) * step, number(maximum) ?? Number.POSITIVE_INFINITY)
}

/** A value that most likely matches the schema: an example or default from the server, or a value made from the schema's keywords. */
export const example = (given: unknown, root: JsonObject, depth = 0, room = { left: mostValues }): unknown => {
  if (depth > mostDepth || room.left-- <= 0) return null
  const schema = resolve(given, root)
  const [first] = list(schema["examples"])
  if (first !== undefined) return first
  if (Object.hasOwn(schema, "default")) return schema["default"]
  const kind = kindOf(schema, root)
  switch (kind._tag) {
    case "Object":
      return Object.fromEntries(
        kind.properties
          .filter(([name]) => kind.needed.includes(name) || depth < 2)
          .map(([name, property]) => [name, example(property, root, depth + 1, room)])
      )
    case "Array": {
      const count = Math.min(Math.max(1, number(schema["minItems"]) ?? 1), 20)
      return Array.from({ length: count }, () => example(kind.items, root, depth + 1, room))
    }
    case "Many":
      return kind.choices.slice(0, Math.max(1, number(schema["minItems"]) ?? 1)).map(({ value }) => value)
    case "Choice":
      return kind.choices[0]?.value
    case "Union":
      return example(kind.variants[0]?.schema, root, depth + 1, room)
    case "Boolean":
      return true
    case "Number":
      return exampleNumber(schema)
    case "Text":
      return exampleText(schema)
    default:
      return {}
  }
}
