/** Converts MCP content to parts of an `effect/ai` prompt and back. */
import { cleaned } from "@effect-mcp/protocol/Excerpt"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import { identity } from "effect/Function"

/** Text or a file: the parts that a user or assistant message may have. */
export type MessagePart = Prompt.FilePart | Prompt.TextPart

/** How text from a server reaches a model. */
export interface ReaderOptions {
  /**
   * True to pass text on unchanged. Default false: terminal escape sequences, control characters and characters that hide text are
   * removed (`Excerpt.cleaned`).
   */
  readonly raw?: boolean | undefined
}

/** Returns the function that prepares text from a server for a model. */
export const reader = ({ raw = false }: ReaderOptions): ((text: string) => string) => (raw ? identity : cleaned)

/** Converts a content block for a model. Media and binary resources become files; a link becomes its name and URI. */
export const partOf = (block: ContentBlock, read: (text: string) => string): MessagePart => {
  const textPart = (text: string) => Prompt.textPart({ text: read(text) })
  switch (block.type) {
    case "text":
      return textPart(block.text)
    case "image":
    case "audio":
      return Prompt.filePart({ mediaType: block.mimeType, data: block.data })
    case "resource_link":
      return textPart(`${block.name}: ${block.uri}`)
    default: {
      const { resource } = block
      if ("text" in resource) return textPart(resource.text)
      const { blob, mimeType = "application/octet-stream", uri } = resource
      return Prompt.filePart({ mediaType: mimeType, fileName: uri, data: blob })
    }
  }
}

const dataUrl = /^data:[^,]*;base64,/i

/**
 * Converts a part to a content block. Images and audio keep their type, other files become resources, and a file at a URL becomes a link.
 */
export const blockOf = (part: MessagePart): ContentBlock => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, fileName, mediaType: mimeType } = part
  if (data instanceof URL) return { type: "resource_link", uri: data.href, name: fileName ?? data.href, mimeType }
  const base64 = typeof data === "string" ? data.replace(dataUrl, "") : Base64.encode(data)
  if (mimeType.startsWith("image/")) return { type: "image", data: base64, mimeType }
  if (mimeType.startsWith("audio/")) return { type: "audio", data: base64, mimeType }
  const uri =
    fileName !== undefined && URL.canParse(fileName) ? fileName : `file:///${encodeURIComponent(fileName ?? "file")}`
  return { type: "resource", resource: { uri, mimeType, blob: base64 } }
}
