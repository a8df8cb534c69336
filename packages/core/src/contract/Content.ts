/**
 * Content blocks by name: what handlers of tools and prompts answer beside plain text.
 *
 * Bytes are encoded here; a string given as data is base64 already. Wrong base64, a media type that is none, a priority outside of 0 to
 * 1, a date that is none and an icon that is neither `https` nor `data` throw `Validate.InvalidDeclaration`.
 */
import type { Annotations } from "@effect-mcp/protocol/model/Annotations"
import type * as Model from "@effect-mcp/protocol/model/Content"
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Base64 from "effect/encoding/Base64"

export interface Options {
  readonly annotations?: Annotations | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

const extras = (owner: string, { annotations, meta }: Options) => ({
  ...(annotations === undefined ? undefined : { annotations: Validate.annotations(owner, annotations) }),
  ...(meta === undefined ? undefined : { _meta: meta })
})
/** What was encoded here needs no check. */
const base64 = (owner: string, data: Uint8Array | string): string =>
  typeof data === "string" ? Validate.base64(owner, data) : Base64.encode(data)

/** The fields of a picture or a sound. */
const binary = (owner: string, data: Uint8Array | string, mimeType: string, options: Options) => ({
  data: base64(owner, data),
  mimeType: Validate.mimeType(owner, mimeType),
  ...extras(owner, options)
})

export const text = (text: string, options: Options = {}): Model.TextContent => ({
  type: "text",
  text,
  ...extras("Content.text", options)
})

export const image = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.ImageContent => ({
  type: "image",
  ...binary("Content.image", data, mimeType, options)
})

/** Since 2025-03-26; a text that says so before. */
export const audio = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.AudioContent => ({
  type: "audio",
  ...binary("Content.audio", data, mimeType, options)
})

/** A resource with its contents: text, or bytes. */
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

/** A resource by name, for the reader to fetch. Since 2025-06-18; a text that says so before. */
export const link = (resource: Resource): Model.ResourceLink => {
  Validate.mimeType("Content.link", resource.mimeType)
  Validate.annotations("Content.link", resource.annotations)
  Validate.icons("Content.link", resource.icons)
  return { type: "resource_link", ...resource }
}
