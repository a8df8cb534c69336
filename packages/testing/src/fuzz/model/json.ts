/** JSON of a peer, which may be anything. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"

/** The JSON of a text; undefined where it is none. */
export const parse = (text: string): unknown =>
  withoutStack(() => {
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  })

/** The member of a JSON object; undefined for anything else. */
export const at = (json: unknown, ...path: ReadonlyArray<string>): unknown => {
  let value = json
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}
