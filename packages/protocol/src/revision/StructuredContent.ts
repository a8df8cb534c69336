/**
 * The value of a tool's result. Where a revision has no structured content for the value, it is the JSON in the text: `Downgrade` writes it
 * there.
 */
import { isJsonObject } from "../internal/JsonObject.ts"
import type { Rules } from "./types.ts"

/** A result, whose members may be unread. */
interface Result {
  readonly content?: unknown
  readonly structuredContent?: unknown
}

const textOf = ({ content }: Result): string =>
  (Array.isArray(content) ? content : [])
    .flatMap((block) => (isJsonObject(block) && block["type"] === "text" ? [block["text"]] : []))
    .join("\n")

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The value; undefined where the result has none. An object is no mirror where the revision has structured content for objects. */
export const read = (
  result: Result,
  { anyStructuredContent, structuredOutput }: Pick<Rules, "anyStructuredContent" | "structuredOutput">
): unknown => {
  if (result.structuredContent !== undefined || anyStructuredContent) return result.structuredContent
  const mirror = parsed(textOf(result))
  return structuredOutput && isJsonObject(mirror) ? undefined : mirror
}
