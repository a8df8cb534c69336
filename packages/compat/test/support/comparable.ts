/** What two libraries may say differently about the same, left out. */

/**
 * The names of JSON Schema documents, members that zod adds to closed objects, and announcements: a server without sessions declares none
 * on this side, and all on the other. `execution` of v1 says the default: that a tool is no task.
 */
const left = new Set(["$schema", "additionalProperties", "execution", "listChanged"])

/** The code that the official client gives to -32601 over HTTP, whose status is 404. */
const notFound = "CLIENT_HTTP_NOT_IMPLEMENTED"

/** A value without members that are undefined, empty `_meta`, and what `left` names. */
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
