/**
 * Items that servers list and results that requests return (spec: server, client). Plain JSON that looks the same in every revision: the
 * library translates values to and from the connection's revision.
 */
import type {
  Annotations,
  AudioContent,
  ContentBlock,
  Icon,
  ImageContent,
  Meta,
  ResourceContents,
  Role,
  TextContent,
  ToolResultContent,
  ToolUseContent
} from "./Content.ts"

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: unknown
}

/** A server's or client's self-description. */
export interface Implementation {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly websiteUrl?: string
  readonly icons?: ReadonlyArray<Icon>
}

/** Hints about a tool. Trust them only as far as you trust the server. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown }
  readonly outputSchema?: JsonObject
  readonly annotations?: ToolAnnotations
  readonly execution?: { readonly taskSupport?: "forbidden" | "optional" | "required" }
  readonly _meta?: Meta
}

/** A tool result. If `isError` is true, the tool failed and `content` tells the model why. */
export interface CallToolResult {
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}

export interface ReadResourceResult {
  readonly contents: ReadonlyArray<ResourceContents>
  readonly _meta?: Meta
}

export interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
}

export interface Prompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly arguments?: ReadonlyArray<PromptArgument>
  readonly _meta?: Meta
}

export interface PromptMessage {
  readonly role: Role
  readonly content: ContentBlock
}

export interface GetPromptResult {
  readonly description?: string
  readonly messages: ReadonlyArray<PromptMessage>
  readonly _meta?: Meta
}

/** Completion suggestions: at most 100 `values`, and optionally the total number available. */
export interface Completion {
  readonly values: ReadonlyArray<string>
  readonly total?: number
  readonly hasMore?: boolean
}

/** A folder offered by the client. `uri` is a file URI. */
export interface Root {
  readonly uri: string
  readonly name?: string
  readonly _meta?: Meta
}

/** Log levels defined by RFC 5424, least severe first. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"

export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string
  /** Any JSON value. */
  readonly data: unknown
  readonly _meta?: Meta
}

/** Progress of a request. `progress` increases with every event. */
export interface ProgressEvent {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

export interface SamplingMessage {
  readonly role: Role
  readonly content: SamplingContent | ReadonlyArray<SamplingContent>
  readonly _meta?: Meta
}

/** A request to the client's model (spec: client/sampling). */
export interface SamplingParams {
  readonly messages: ReadonlyArray<SamplingMessage>
  readonly maxTokens: number
  readonly systemPrompt?: string
  /** Priorities range from 0 to 1. Each hint is part of a model name, and the first hint that matches wins. */
  readonly modelPreferences?: {
    readonly hints?: ReadonlyArray<{ readonly name?: string }>
    readonly costPriority?: number
    readonly speedPriority?: number
    readonly intelligencePriority?: number
  }
  readonly includeContext?: "none" | "thisServer" | "allServers"
  readonly temperature?: number
  readonly stopSequences?: ReadonlyArray<string>
  readonly metadata?: JsonObject
  readonly tools?: ReadonlyArray<Tool>
  readonly toolChoice?: { readonly mode?: "auto" | "required" | "none" }
}

export interface SamplingResult extends SamplingMessage {
  readonly model: string
  /** "endTurn", "stopSequence", "maxTokens", "toolUse", or a provider-specific value. */
  readonly stopReason?: string
}

/** The result of `sample`. */
export interface SampledMessage extends SamplingResult {
  /** The text blocks in `content`, joined with newlines. */
  readonly text: string
}

/** A form for the user (spec: client/elicitation). It is flat and can have string, number, boolean and choice fields. */
export interface FormQuestion {
  readonly message: string
  readonly requestedSchema: {
    readonly type: "object"
    readonly properties: { readonly [name: string]: JsonObject }
    readonly required?: ReadonlyArray<string>
  }
}

/** A URL for the user to visit. */
export interface UrlQuestion {
  readonly message: string
  readonly url: string
  readonly elicitationId?: string
}

/**
 * The user's answer. For a form, an `accept` answer includes `content`. For a URL, it means the user agreed to visit it, not that they are
 * done.
 */
export interface ElicitationAnswer {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: { readonly [name: string]: string | number | boolean | ReadonlyArray<string> }
}

/** Capabilities declared by a client or server. */
export interface Capabilities {
  readonly [name: string]: JsonObject | undefined
}

export type { Annotations }
