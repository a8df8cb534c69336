/** Helpers for untrusted JSON. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"

const tryParse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses a text as JSON, or returns `undefined`. Skips the costly stack trace for texts that obviously are not an object. */
export const parse = (text: string): unknown =>
  text.endsWith("}") ? tryParse(text) : withoutStack(() => tryParse(text))

/** Returns a nested member of a JSON object, or `undefined` if there is none. */
export const at = (json: unknown, ...path: ReadonlyArray<string>): unknown => {
  let value = json
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

/** Returns true if a value is a text that is not empty. */
export const isText = (value: unknown): boolean => typeof value === "string" && value !== ""
