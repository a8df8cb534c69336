/** Content blocks in tool results, prompts and messages. Binary data stays in base64, because it is forwarded without being read. */
import * as Schema from "effect/Schema"
import { Annotations, Role } from "./Annotations.ts"
import { metaFields } from "./Meta.ts"
import { Resource } from "./Resource.ts"
import { BlobResourceContents, ResourceContents, TextResourceContents } from "./ResourceContents.ts"
import { JsonObject, struct } from "./Shape.ts"

export { Annotations, BlobResourceContents, ResourceContents, Role, TextResourceContents }

const annotated = { annotations: Schema.optionalKey(Annotations), ...metaFields }

/** A text block. */
export const TextContent = struct("TextContent", { type: Schema.Literal("text"), text: Schema.String, ...annotated })
export type TextContent = typeof TextContent.Type

/** An image block. `data` is base64. */
export const ImageContent = struct("ImageContent", {
  type: Schema.Literal("image"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})
export type ImageContent = typeof ImageContent.Type

/** An audio block. `data` is base64. Since 2025-03-26. */
export const AudioContent = struct("AudioContent", {
  type: Schema.Literal("audio"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})
export type AudioContent = typeof AudioContent.Type

/** A link to a resource, without its contents. Since 2025-06-18. */
export const ResourceLink = struct("ResourceLink", { type: Schema.Literal("resource_link"), ...Resource.fields })
export type ResourceLink = typeof ResourceLink.Type

/** An embedded resource with its contents. */
export const EmbeddedResource = struct("EmbeddedResource", {
  type: Schema.Literal("resource"),
  resource: ResourceContents,
  ...annotated
})
export type EmbeddedResource = typeof EmbeddedResource.Type

/** A content block in a tool result or prompt message. */
export const ContentBlock = Schema.Union([TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource])
export type ContentBlock = typeof ContentBlock.Type

/** A tool call made by the model. Only in sampling, since 2025-11-25. */
export const ToolUseContent = struct("ToolUseContent", {
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: JsonObject,
  ...metaFields
})
export type ToolUseContent = typeof ToolUseContent.Type

/** The result of a tool call made by the model. Only in sampling, since 2025-11-25. */
export const ToolResultContent = struct("ToolResultContent", {
  type: Schema.Literal("tool_result"),
  toolUseId: Schema.String,
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Schema.Unknown),
  isError: Schema.optionalKey(Schema.Boolean),
  ...metaFields
})
export type ToolResultContent = typeof ToolResultContent.Type

/** True if the content is an array of blocks instead of a single block. */
export const isBlocks = <Block>(content: Block | ReadonlyArray<Block>): content is ReadonlyArray<Block> =>
  Array.isArray(content)
