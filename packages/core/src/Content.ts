/**
 * Content blocks by name: what handlers of tools and prompts answer beside plain text.
 *
 * Bytes are encoded here; a string given as data is base64 already.
 */
import type { Annotations } from "@effect-mcp/protocol/model/Annotations"
import type * as Model from "@effect-mcp/protocol/model/Content"
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import * as Base64 from "effect/encoding/Base64"

export interface Options {
  readonly annotations?: Annotations | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

const extras = ({ annotations, meta }: Options) => ({
  ...(annotations === undefined ? undefined : { annotations }),
  ...(meta === undefined ? undefined : { _meta: meta })
})
const base64 = (data: Uint8Array | string): string => (typeof data === "string" ? data : Base64.encode(data))

export const text = (text: string, options: Options = {}): Model.TextContent => ({
  type: "text",
  text,
  ...extras(options)
})

export const image = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.ImageContent => ({
  type: "image",
  data: base64(data),
  mimeType,
  ...extras(options)
})

/** Since 2025-03-26; a text that says so before. */
export const audio = (data: Uint8Array | string, mimeType: string, options: Options = {}): Model.AudioContent => ({
  type: "audio",
  data: base64(data),
  mimeType,
  ...extras(options)
})

/** A resource with its contents: text, or bytes. */
export const resource = (
  uri: string,
  contents: string | Uint8Array,
  options: Options & { readonly mimeType?: string | undefined } = {}
): Model.EmbeddedResource => {
  const about = { uri, ...(options.mimeType === undefined ? undefined : { mimeType: options.mimeType }) }
  return {
    type: "resource",
    resource: typeof contents === "string" ? { ...about, text: contents } : { ...about, blob: base64(contents) },
    ...extras(options)
  }
}

/** A resource by name, for the reader to fetch. Since 2025-06-18; a text that says so before. */
export const link = (resource: Resource): Model.ResourceLink => ({ type: "resource_link", ...resource })
