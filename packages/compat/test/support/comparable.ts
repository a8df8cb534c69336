/** Removes details in which two libraries may legitimately differ. */

/**
 * Members to remove: JSON Schema document names, members that zod adds to closed objects, and announcements, which a server without
 * sessions declares in full in the SDK and not at all here. In v1, `execution` repeats the default: the tool is not a task.
 */
const left = new Set(["$schema", "additionalProperties", "execution", "listChanged"])

/** The code that the official client returns for -32601 over HTTP, whose status is 404. */
const notFound = "CLIENT_HTTP_NOT_IMPLEMENTED"

/** Returns a value without undefined members, empty `_meta`, and the members in `left`. */
export const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable)
  if (value === notFound) return -32_601
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined || left.has(name)) return []
    if (name === "_meta") return []
    return [[name, comparable(member)]]
  })
  return Object.fromEntries(entries)
}
