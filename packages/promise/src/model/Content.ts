/** Content of results and messages (spec: server/tools, content types). Plain JSON, with binary data in base64. */

/** Metadata for other programs. A prefixed key belongs to whoever owns the prefix. */
export interface Meta {
  readonly [key: string]: unknown
}

export type Role = "user" | "assistant"

/** The intended audience and importance of a value. */
export interface Annotations {
  readonly audience?: ReadonlyArray<Role>
  /** Importance, from 0 (optional) to 1 (required). */
  readonly priority?: number
  /** Time in ISO 8601 format. */
  readonly lastModified?: string
}

/** An image to show in user interfaces. */
export interface Icon {
  /** An `https` or `data` URI. */
  readonly src: string
  readonly mimeType?: string
  /** Sizes such as "48x48", or "any". */
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
  /** Base64-encoded image. */
  readonly data: string
  readonly mimeType: string
}

/** Audio content, since 2025-03-26. In 2024-11-05, a text block mentioning the audio is sent instead. */
export interface AudioContent extends Annotated {
  readonly type: "audio"
  /** Base64-encoded audio. */
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
  /** Base64-encoded bytes. */
  readonly blob: string
  readonly _meta?: Meta
}

export type ResourceContents = TextResourceContents | BlobResourceContents

/** A resource embedded with its contents. */
export interface EmbeddedResource extends Annotated {
  readonly type: "resource"
  readonly resource: ResourceContents
}

interface DescribedResource {
  /** Programmatic name. User interfaces show `title`. */
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
  /** Size in bytes, before any encoding. */
  readonly size?: number
}

export interface ResourceTemplate extends DescribedResource {
  /** URI template in RFC 6570 syntax. */
  readonly uriTemplate: string
}

/**
 * A link to a resource whose contents are not included. Since 2025-06-18; older revisions receive a text block that mentions the resource
 * instead.
 */
export interface ResourceLink extends Resource {
  readonly type: "resource_link"
}

export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** A model's request to call a tool. Used only in sampling, since 2025-11-25. */
export interface ToolUseContent {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: { readonly [key: string]: unknown }
  readonly _meta?: Meta
}

/** The result of a model's tool call. Used only in sampling, since 2025-11-25. */
export interface ToolResultContent {
  readonly type: "tool_result"
  readonly toolUseId: string
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}
