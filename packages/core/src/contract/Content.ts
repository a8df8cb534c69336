/**
 * Content blocks of tools and prompts (spec: server/tools, content types).
 *
 * Bytes are encoded as base64; a string given as data must be base64 already. Invalid base64, media types, priorities (0 to 1), dates
 * and icons (`https` or `data` only) throw `Validate.InvalidDeclaration`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/core"
 *
 * const caption = Content.text("The chart", { annotations: { audience: ["user"], priority: 0.5 } })
 * const chart = Content.image(new Uint8Array([137, 80, 78, 71]), "image/png")
 * const report = Content.resource("report://today", "All is well", { mimeType: "text/plain" })
 *
 * console.log(chart.data) // => iVBORw==
 * console.log([caption, chart, report].map(({ type }) => type).join(" ")) // => text image resource
 * ```
 */
import type { Annotations } from "@effect-mcp/protocol/model/Annotations"
import type * as Model from "@effect-mcp/protocol/model/Content"
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Base64 from "effect/encoding/Base64"

/** Fields that every block may have. */
export interface Options {
  /** For which audience the block is, and how important it is. */
  readonly annotations?: Annotations | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

const extras = (owner: string, { annotations, meta }: Options) => ({
  ...(annotations === undefined ? undefined : { annotations: Validate.annotations(owner, annotations) }),
  ...(meta === undefined ? undefined : { _meta: meta })
})
/** Encoded bytes need no check. */
const base64 = (owner: string, data: Uint8Array | string): string =>
  typeof data === "string" ? Validate.base64(owner, data) : Base64.encode(data)

/** The fields that image and audio share. */
const binary = (owner: string, data: Uint8Array | string, mimeType: string, options: Options) => ({
  data: base64(owner, data),
  mimeType: Validate.mimeType(owner, mimeType),
  ...extras(owner, options)
})

/** A block of text. */
export const text = (text: string, options: Options = {}): Model.TextContent => ({
  type: "text",
  text,
  ...extras("Content.text", options)
})

/** An image: bytes, or base64. */
export const image = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.ImageContent => ({
  type: "image",
  ...binary("Content.image", data, mimeType, options)
})

/** Audio: bytes, or base64. Since 2025-03-26; in 2024-11-05 a text in its place says that there was audio. */
export const audio = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.AudioContent => ({
  type: "audio",
  ...binary("Content.audio", data, mimeType, options)
})

/** An embedded resource: its URI with its contents, text or bytes. */
export const resource = (
  uri: string,
  contents: string | Uint8Array,
  options: Options & { readonly mimeType?: string | undefined } = {}
): Model.EmbeddedResource => {
  const mimeType = Validate.mimeType("Content.resource", options.mimeType)
  const about = { uri, ...(mimeType === undefined ? undefined : { mimeType }) }
  return {
    type: "resource",
    resource: typeof contents === "string" ? { ...about, text: contents } : { ...about, blob: Base64.encode(contents) },
    ...extras("Content.resource", options)
  }
}

/** A link to a resource that the client may read. Since 2025-06-18; in older revisions a text that names it. */
export const link = (resource: Resource): Model.ResourceLink => {
  Validate.mimeType("Content.link", resource.mimeType)
  Validate.annotations("Content.link", resource.annotations)
  Validate.icons("Content.link", resource.icons)
  return { type: "resource_link", ...resource }
}
