/**
 * Checks of the declarations of this program: content, annotations, icons, media types.
 *
 * Constructors call them, so that a mistake fails where it is made. Declarations of a peer are not checked but passed on unchanged.
 */
import { excerpt } from "../Excerpt.ts"
import type { Annotations } from "./Annotations.ts"
import type { Icon } from "./Icon.ts"

/** A value in a declaration of this program that the specification does not allow. Constructors throw it. */
export class InvalidDeclaration extends Error {
  override readonly name = "InvalidDeclaration"
}

const refuse = (owner: string, what: string, given: unknown, expected: string): never => {
  const text = JSON.stringify(given) ?? String(given)
  throw new InvalidDeclaration(`${owner}: ${what} is ${excerpt(text, 100)}; expected ${expected}`)
}

const token = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"[^"\\\\\\r\\n]*"))*$`)

/** A media type (RFC 9110 section 8.3.1), with parameters or without. */
export const mimeType = <T extends string | undefined>(owner: string, value: T): T =>
  value === undefined || (value.length <= 255 && mediaType.test(value))
    ? value
    : refuse(owner, "mimeType", value, 'a media type such as "image/png"')

/** Standard base64 with padding (RFC 4648 section 4). Linear in the length of the text. */
export const base64 = (owner: string, value: string): string => {
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0
  const stray = value.search(/[^A-Za-z0-9+/]/)
  return value.length % 4 === 0 && (stray === -1 || stray === value.length - padding)
    ? value
    : refuse(owner, "data", value, "base64 with padding (RFC 4648 section 4), or the bytes as a Uint8Array")
}

/** ISO 8601: a date, or a date with a time and an offset. */
const isoDate = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/

const isDate = (text: string): boolean => {
  const day = isoDate.exec(text)?.[1]
  if (day === undefined) return false
  // `Date.parse` alone takes the 30th of February for the 2nd of March.
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const time = Date.parse(text.replace(",", ".").replace(/([+-]\d\d)(\d\d)$/, "$1:$2"))
  return !Number.isNaN(time) && !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day)
}

/** A `priority` from 0 to 1 and a `lastModified` that is an ISO 8601 date. */
export const annotations = <T extends Annotations | undefined>(owner: string, value: T): T => {
  const { audience, lastModified, priority } = value ?? {}
  if (priority !== undefined && !(priority >= 0 && priority <= 1)) {
    refuse(owner, "annotations.priority", priority, "a number from 0 to 1")
  }
  if (lastModified !== undefined && !isDate(lastModified)) {
    refuse(owner, "annotations.lastModified", lastModified, 'an ISO 8601 date such as "2026-01-12T15:00:58Z"')
  }
  if (audience !== undefined && audience.some((role) => role !== "user" && role !== "assistant")) {
    refuse(owner, "annotations.audience", audience, '"user", "assistant" or both')
  }
  return value
}

/** Whether an icon's `src` may be fetched and shown (spec 2025-11-25: basic, icons). */
const isIconSource = (src: string): boolean => /^(?:https:\/\/[^\s/?#]\S*|data:\S+)$/i.test(src)

/** Icons with an `https` or `data` URI, and a media type and sizes where they are given. */
export const icons = <T extends ReadonlyArray<Icon> | undefined>(owner: string, value: T): T => {
  for (const { mimeType: type, sizes = [], src } of value ?? []) {
    if (!isIconSource(src)) refuse(owner, "the src of an icon", src, "an https or data URI")
    mimeType(`${owner}, icon`, type)
    const size = sizes.find((size) => size !== "any" && !/^\d+x\d+$/.test(size))
    if (size !== undefined) refuse(owner, "a size of an icon", size, '"48x48" or "any"')
  }
  return value
}
