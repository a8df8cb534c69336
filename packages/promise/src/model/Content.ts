/**
 * The content of results and messages (spec: server/tools, content types). Plain JSON: binary data is base64.
 */

/** Entries for other programs; a key with a prefix belongs to the owner of the prefix. */
export interface Meta {
  readonly [key: string]: unknown
}

export type Role = "user" | "assistant"

/** For which audience a value is, and how important it is. */
export interface Annotations {
  readonly audience?: ReadonlyArray<Role>
  /** From 0 (optional) to 1 (required). */
  readonly priority?: number
  /** An ISO 8601 time. */
  readonly lastModified?: string
}

/** An image for user interfaces. */
export interface Icon {
  /** An `https` or `data` URI. */
  readonly src: string
  readonly mimeType?: string
  /** "48x48" or "any". */
  readonly sizes?: ReadonlyArray<string>
  readonly theme?: "light" | "dark"
}

interface Annotated {
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export interface TextContent extends Annotated {
  readonly type: "text"
  readonly text: string
}

export interface ImageContent extends Annotated {
  readonly type: "image"
  /** Base64. */
  readonly data: string
  readonly mimeType: string
}

/** Since 2025-03-26; in 2024-11-05 a text in its place says that there was audio. */
export interface AudioContent extends Annotated {
  readonly type: "audio"
  /** Base64. */
  readonly data: string
  readonly mimeType: string
}

export interface TextResourceContents {
  readonly uri: string
  readonly mimeType?: string
  readonly text: string
  readonly _meta?: Meta
}

export interface BlobResourceContents {
  readonly uri: string
  readonly mimeType?: string
  /** Base64. */
  readonly blob: string
  readonly _meta?: Meta
}

export type ResourceContents = TextResourceContents | BlobResourceContents

/** A resource with its contents. */
export interface EmbeddedResource extends Annotated {
  readonly type: "resource"
  readonly resource: ResourceContents
}

interface DescribedResource {
  /** The name for programs; user interfaces show `title`. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export interface Resource extends DescribedResource {
  readonly uri: string
  /** In bytes, before any encoding. */
  readonly size?: number
}

export interface ResourceTemplate extends DescribedResource {
  /** RFC 6570. */
  readonly uriTemplate: string
}

/** A resource that is named, not included. Since 2025-06-18; in older revisions a text that names it. */
export interface ResourceLink extends Resource {
  readonly type: "resource_link"
}

export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** A call of a tool by a model. Only in sampling, since 2025-11-25. */
export interface ToolUseContent {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: { readonly [key: string]: unknown }
  readonly _meta?: Meta
}

/** The result of a model's tool call. Only in sampling, since 2025-11-25. */
export interface ToolResultContent {
  readonly type: "tool_result"
  readonly toolUseId: string
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}
