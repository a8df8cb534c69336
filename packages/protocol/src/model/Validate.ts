/**
 * Validates the content, annotations, icons and media types that this program declares.
 *
 * Constructors call these checks, so that a mistake is reported where it is made. Servers and clients call them for blocks that handlers
 * write by hand, before they are sent. Declarations from a peer are forwarded unchanged without validation.
 */
import { excerpt } from "../Excerpt.ts"
import type { Annotations } from "./Annotations.ts"
import type { ContentBlock } from "./Content.ts"
import type { Icon } from "./Icon.ts"
import type { ResourceContents } from "./ResourceContents.ts"
import type { SamplingContent } from "./Sampling.ts"

/** Thrown if a declaration violates the specification. */
export class InvalidDeclaration extends Error {
  override readonly name = "InvalidDeclaration"
}

const refuse = (owner: string, what: string, given: unknown, expected: string): never => {
  // Quoting a large string whole would only be cut off again.
  const text =
    (typeof given === "string" ? JSON.stringify(given.slice(0, 200)) : JSON.stringify(given)) ?? String(given)
  throw new InvalidDeclaration(`${owner}: ${what} is ${excerpt(text, 100)}; expected ${expected}`)
}

const token = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"[^"\\\\\\r\\n]*"))*$`)

/** Checks a media type (RFC 9110 section 8.3.1), with or without parameters. */
export const mimeType = <T extends string | undefined>(owner: string, value: T): T =>
  value === undefined || (value.length <= 255 && mediaType.test(value))
    ? value
    : refuse(owner, "mimeType", value, 'a media type such as "image/png"')

/** Checks standard base64 with padding (RFC 4648 section 4). Takes time linear in the length of the string. */
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
  // `Date.parse` alone would read February 30 as March 2.
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const time = Date.parse(text.replace(",", ".").replace(/([+-]\d\d)(\d\d)$/, "$1:$2"))
  return !Number.isNaN(time) && !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day)
}

/** Checks annotations: `priority` must be between 0 and 1, and `lastModified` must be an ISO 8601 date. */
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

/** True if an icon's `src` is safe to fetch and display (spec 2025-11-25: basic, icons). */
const isIconSource = (src: string): boolean => /^(?:https:\/\/[^\s/?#]\S*|data:\S+)$/i.test(src)

/** Checks icons: each `src` must be an `https` or `data` URI. Media type and sizes are checked if present. */
export const icons = <T extends ReadonlyArray<Icon> | undefined>(owner: string, value: T): T => {
  for (const { mimeType: type, sizes = [], src } of value ?? []) {
    if (!isIconSource(src)) refuse(owner, "the icon's src", src, "an https or data URI")
    mimeType(`${owner}, icon`, type)
    const size = sizes.find((size) => size !== "any" && !/^\d+x\d+$/.test(size))
    if (size !== undefined) refuse(owner, "the icon's size", size, '"48x48" or "any"')
  }
  return value
}

/** An absolute URI: a scheme, and no white space or control characters. Registered resources are checked more strictly (RFC 3986). */
const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]*$/u

const uri = (owner: string, value: string): void => {
  if (!absolute.test(value)) refuse(owner, "uri", value, 'an absolute URI such as "https://example.com/report"')
}

/** Values whose constructor has checked their data, or encoded it. Checking base64 again would take as long as reading it. */
const known = new WeakSet<object>()

/** Marks a value as checked, so that checking it again costs nothing. A copy with changed fields is no longer marked. */
export const checked = <A extends object>(value: A): A => {
  known.add(value)
  return value
}

/** Checks a resource's contents: URI, media type and base64. */
export const contents = (owner: string, value: ResourceContents): void => {
  if (known.has(value)) return
  uri(owner, value.uri)
  mimeType(owner, value.mimeType)
  if ("blob" in value) base64(owner, value.blob)
}

/** A resource's description, in a list or a link. */
interface Described {
  readonly uri: string
  readonly mimeType?: string
  readonly annotations?: Annotations
  readonly icons?: ReadonlyArray<Icon>
}

/** Checks a resource's description: URI, media type, annotations and icons. */
export const resource = (owner: string, value: Described): void => {
  uri(owner, value.uri)
  mimeType(owner, value.mimeType)
  if (value.annotations !== undefined) annotations(owner, value.annotations)
  if (value.icons !== undefined) icons(owner, value.icons)
}

/** Checks content blocks: base64, media types, URIs, annotations and icons. Text without annotations needs no check. */
export const blocks = (owner: string, values: ReadonlyArray<ContentBlock | SamplingContent>): void => {
  for (const value of values) block(owner, value)
}

const block = (owner: string, value: ContentBlock | SamplingContent): void => {
  if ((value.type === "text" && value.annotations === undefined) || known.has(value)) return
  switch (value.type) {
    case "text":
      break
    case "image":
    case "audio":
      mimeType(owner, value.mimeType)
      base64(owner, value.data)
      break
    case "resource":
      contents(owner, value.resource)
      break
    case "resource_link":
      return resource(owner, value)
    case "tool_use":
      return
    case "tool_result":
      return blocks(owner, value.content)
    default:
      refuse(owner, "a content block", value, "an object with a type such as text or image")
  }
  if (value.annotations !== undefined) annotations(owner, value.annotations)
}
