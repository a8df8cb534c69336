/**
 * The value of a tool's result. Where a revision has no structured content for the value, it is the JSON in the text: `revision/Downgrade`
 * writes it there.
 */
import { isJsonObject } from "../internal/JsonObject.ts"

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

/**
 * The value; undefined where the result has none. The text counts in every revision: a gateway may stand between, and a server behind it that
 * has no structured content.
 */
export const read = (result: Result): unknown =>
  result.structuredContent === undefined ? parsed(textOf(result)) : result.structuredContent
