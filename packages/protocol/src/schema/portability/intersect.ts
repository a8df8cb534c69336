/** Merges schemas that apply to the same value. */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { say } from "./words.ts"

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const lower = (one: unknown, other: unknown): unknown =>
  typeof one === "number" && typeof other === "number" ? Math.min(one, other) : one
const higher = (one: unknown, other: unknown): unknown =>
  typeof one === "number" && typeof other === "number" ? Math.max(one, other) : one
const common = (one: unknown, other: unknown): unknown =>
  Array.isArray(one) && Array.isArray(other) ? one.filter((value) => other.some((item) => isSame(item, value))) : one
const all = (one: unknown, other: unknown): unknown =>
  Array.isArray(one) && Array.isArray(other) ? [...new Set([...one, ...other])] : one
const narrower = (one: unknown, other: unknown): unknown =>
  one === "number" && other === "integer" ? other : Array.isArray(one) && one.includes(other) ? other : one

const inner = (one: unknown, other: unknown): unknown => {
  if (one === true) return other
  if (one === false || other === false) return false
  return isJsonObject(one) && isJsonObject(other) ? intersected(one, other) : one
}

const properties = (one: unknown, other: unknown): unknown => {
  if (!isJsonObject(one) || !isJsonObject(other)) return one
  const shared = Object.entries(other).map(([key, value]) => [
    key,
    Object.hasOwn(one, key) ? inner(one[key], value) : value
  ])
  return { ...one, ...Object.fromEntries(shared) }
}

/** How to merge two values of a keyword. Other keywords keep their first value. */
const merges: { readonly [keyword: string]: (one: unknown, other: unknown) => unknown } = {
  type: narrower,
  enum: common,
  required: all,
  properties,
  items: inner,
  minimum: higher,
  exclusiveMinimum: higher,
  minLength: higher,
  minItems: higher,
  minProperties: higher,
  maximum: lower,
  exclusiveMaximum: lower,
  maxLength: lower,
  maxItems: lower,
  maxProperties: lower
}

/** Keywords that only have a meaning in combination. */
const conditional = new Set(["if", "then", "else"])

/**
 * Closes the merged object if either side is closed, so that it only allows properties that are listed in the result.
 */
const closed = (one: JsonObject, other: JsonObject): unknown => {
  if ("patternProperties" in one || "patternProperties" in other) return undefined
  const sides = [one["additionalProperties"], other["additionalProperties"]]
  return sides.includes(false) ? false : sides.find(isJsonObject)
}

/**
 * Returns a schema for values that match both schemas. It accepts at least the values that both accept. If two keywords
 * cannot be merged, the first one is kept.
 */
export const intersected = (one: JsonObject, other: JsonObject): JsonObject => {
  const { description, additionalProperties: _, ...rest } = other
  const { additionalProperties: __, ...out }: Record<string, unknown> = one
  const hasCondition = Object.keys(one).some((key) => conditional.has(key))
  const added = Object.entries(rest)
    .filter(([key]) => !(hasCondition && conditional.has(key)))
    .map(([key, value]) => {
      if (!Object.hasOwn(one, key)) return [key, value]
      // An untrusted keyword may have the name of an inherited member.
      const merge = Object.hasOwn(merges, key) ? merges[key] : undefined
      return [key, merge?.(one[key], value) ?? one[key]]
    })
  const additionalProperties = closed(one, other)
  const merged = {
    ...out,
    ...Object.fromEntries(added),
    ...(additionalProperties === undefined ? undefined : { additionalProperties })
  }
  return say(merged, typeof description === "string" ? description : undefined)
}
