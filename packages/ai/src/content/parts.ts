/** Content of MCP as parts of a prompt of `effect/ai`, and the reverse. */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"

/** Text, or a file: what a message of a user or of an assistant may have. */
export type MessagePart = Prompt.FilePart | Prompt.TextPart

/** A content block for a model: media and binary resources are files, a link is its name and URI. */
export const partOf = (block: ContentBlock): MessagePart => {
  switch (block.type) {
    case "text":
      return Prompt.textPart({ text: block.text })
    case "image":
    case "audio":
      return Prompt.filePart({ mediaType: block.mimeType, data: block.data })
    case "resource_link":
      return Prompt.textPart({ text: `${block.name}: ${block.uri}` })
    default: {
      const { resource } = block
      if ("text" in resource) return Prompt.textPart({ text: resource.text })
      const { blob, mimeType = "application/octet-stream", uri } = resource
      return Prompt.filePart({ mediaType: mimeType, fileName: uri, data: blob })
    }
  }
}

const dataUrl = /^data:[^,]*;base64,/i

/** A part as a content block: images and audio as such, other files as resources, a file at a URL as a link. */
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
