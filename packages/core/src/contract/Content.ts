/**
 * Creates content blocks for tools and prompts (spec: server/tools, content types).
 *
 * Bytes are encoded as base64; pass a string only if it is already base64. Throws `Validate.InvalidDeclaration` for invalid base64, media
 * types, priorities (0 to 1), dates, and icons (which must be `https` or `data` URLs).
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

/** Fields common to all blocks. */
export interface Options {
  /** Who the block is for, and how important it is. */
  readonly annotations?: Annotations | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

const extras = (owner: string, { annotations, meta }: Options) => ({
  ...(annotations === undefined ? undefined : { annotations: Validate.annotations(owner, annotations) }),
  ...(meta === undefined ? undefined : { _meta: meta })
})
/** Checks a base64 string. Bytes are encoded here and need no check. */
const base64 = (owner: string, data: Uint8Array | string): string =>
  typeof data === "string" ? Validate.base64(owner, data) : Base64.encode(data)

/** Returns the fields that image and audio blocks have in common. */
const binary = (owner: string, data: Uint8Array | string, mimeType: string, options: Options) => ({
  data: base64(owner, data),
  mimeType: Validate.mimeType(owner, mimeType),
  ...extras(owner, options)
})

/** Creates a text block. */
export const text = (text: string, options: Options = {}): Model.TextContent => ({
  type: "text",
  text,
  ...extras("Content.text", options)
})

/** Creates an image block from bytes or base64. */
export const image = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.ImageContent =>
  Validate.checked({ type: "image", ...binary("Content.image", data, mimeType, options) })

/**
 * Creates an audio block from bytes or base64. Since 2025-03-26; 2024-11-05 clients receive a text block that mentions the audio instead.
 */
export const audio = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.AudioContent =>
  Validate.checked({ type: "audio", ...binary("Content.audio", data, mimeType, options) })

/** Creates an embedded resource block: a URI and its contents, as text or bytes. */
export const resource = (
  uri: string,
  contents: string | Uint8Array,
  options: Options & { readonly mimeType?: string | undefined } = {}
): Model.EmbeddedResource => {
  const { mimeType } = options
  const about = { uri, ...(mimeType === undefined ? undefined : { mimeType }) }
  Validate.resource("Content.resource", about)
  return Validate.checked({
    type: "resource",
    resource: typeof contents === "string" ? { ...about, text: contents } : { ...about, blob: Base64.encode(contents) },
    ...extras("Content.resource", options)
  })
}

/**
 * Creates a link to a resource that the client can read. Since 2025-06-18; older clients receive a text block that names the resource
 * instead.
 */
export const link = (resource: Resource): Model.ResourceLink => {
  Validate.resource("Content.link", resource)
  return Validate.checked({ type: "resource_link", ...resource })
}
