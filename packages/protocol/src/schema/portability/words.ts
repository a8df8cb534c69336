/** Adds sentences to a schema's description for constraints that are removed from its keywords. */
import type { JsonObject } from "../../internal/JsonObject.ts"

/** Maximum length of a pattern or value to repeat in a description. */
const maxQuoted = 120

/** Maximum length of a description to append to. */
const maxDescription = 2000

/** Returns the value as JSON text, or `undefined` if it is too long for a sentence. */
export const quoted = (value: unknown): string | undefined => {
  const text = JSON.stringify(value) ?? ""
  return text.length <= maxQuoted ? text : undefined
}

/** Appends a sentence to the description, unless the description already contains it or is too long. */
export const say = (schema: JsonObject, sentence: string | undefined): JsonObject => {
  const { description } = schema
  const before = typeof description === "string" ? description.trimEnd() : ""
  if (sentence === undefined || before.includes(sentence)) return schema
  const joint = before === "" ? "" : /[.!?]$/.test(before) ? " " : ". "
  const after = `${before}${joint}${sentence}`
  return after.length > maxDescription ? schema : { ...schema, description: after }
}

/** Joins items for use in a sentence: "a, b or c". */
export const either = (items: ReadonlyArray<string>): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`
