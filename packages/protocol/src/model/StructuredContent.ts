/**
 * A tool result's structured value. If the revision has no structured content for the value, it is sent as JSON text, as written by
 * `revision/Downgrade`.
 */
import { isJsonObject } from "../internal/JsonObject.ts"

/** A result whose fields may not have been decoded yet. */
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
 * Returns the structured value, or `undefined` if the result has no such value. Falls back to the text in every revision, because a gateway
 * may be forwarding results from a server without structured content.
 */
export const read = (result: Result): unknown =>
  result.structuredContent === undefined ? parsed(textOf(result)) : result.structuredContent
