import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** JSON with sorted keys: values that are equal as JSON have equal text. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner
  )
