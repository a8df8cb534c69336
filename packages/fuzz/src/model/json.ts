/** JSON of a peer, which may be anything. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"

const tryParse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON of a text; undefined where it is none. A text that ends as an object most likely is one: no error is expected. */
export const parse = (text: string): unknown =>
  text.endsWith("}") ? tryParse(text) : withoutStack(() => tryParse(text))

/** The member of a JSON object; undefined for anything else. */
export const at = (json: unknown, ...path: ReadonlyArray<string>): unknown => {
  let value = json
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}
