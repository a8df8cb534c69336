/**
 * Values that are plain JSON: copied, and held against a limit, without their text.
 *
 * The fast path of what a handler returns: it would be written to know its length, and its text be read to have a copy that the handler does
 * not change. For any other value (a Date, a member that is undefined, -0) `JSON` decides. A test compares both.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import { bytesOf } from "./Row.ts"

/** No copy: the value is not plain. */
export const none: unique symbol = Symbol("@effect-mcp/tasks/JsonCopy/none")

/** Below it, and in a cycle, `JSON` decides. */
const maxDepth = 32

/** Whether it may be of `JSON.rawJSON`. */
const isRaw = (value: object): boolean => "rawJSON" in value

const isPlain = (value: object): value is JsonObject => {
  // JSON writes what the method gives, also where that is no field of the object.
  if ("toJSON" in value) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || (prototype === null && !isRaw(value))
}

/** What `JSON.parse` gives of the text of a value; `none` where that has to be found out. */
export const copyOf = (value: unknown, depth: number = maxDepth): unknown => {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : none
  if (typeof value !== "object" || depth === 0) return none
  if (Array.isArray(value)) return copyOfArray(value, depth - 1)
  return isPlain(value) ? copyOfObject(value, depth - 1) : none
}

const copyOfObject = (value: JsonObject, depth: number): unknown => {
  const out: Record<string, unknown> = {}
  // Without an array of the keys.
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    const copied = copyOf(value[key], depth)
    // An assignment would set the prototype.
    if (copied === none || key === "__proto__") return none
    out[key] = copied
  }
  return out
}

const copyOfArray = (value: ReadonlyArray<unknown>, depth: number): unknown => {
  if ("toJSON" in value) return none
  const out: Array<unknown> = []
  for (const item of value) {
    const copied = copyOf(item, depth)
    if (copied === none) return none
    out.push(copied)
  }
  return out
}

/** At least as many bytes as the value has as JSON; NaN, which fits no limit, for a value that is not plain. */
const bound = (value: unknown, depth: number): number => {
  // A character is written as six at most, as in \u001f, and is three bytes of UTF-8 else.
  if (typeof value === "string") return 6 * value.length + 2
  if (typeof value === "number") return 25
  if (typeof value === "boolean" || value === null) return 5
  if (typeof value !== "object" || depth === 0) return NaN
  let sum = 2
  if (Array.isArray(value)) {
    if ("toJSON" in value) return NaN
    for (const item of value) sum += bound(item, depth - 1) + 1
    return sum
  }
  if (!isPlain(value)) return NaN
  // One of the prototype makes the bound larger at most.
  for (const key in value) sum += 6 * key.length + 4 + bound(value[key], depth - 1)
  return sum
}

/** Whether a value has at most so many bytes as JSON. Throws for one without a JSON form. */
export const fits = (value: unknown, most: number): boolean => bound(value, maxDepth) <= most || bytesOf(value) <= most
