/**
 * What servers list and what requests give (spec: server, client). Plain JSON, the same in every revision: values are translated to and
 * from the revision of the connection.
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

/** How a server or client names itself. */
export interface Implementation {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly websiteUrl?: string
  readonly icons?: ReadonlyArray<Icon>
}

/** Hints about a tool, as trustworthy as its server. */
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

/** The result of a tool. With `isError` the tool failed, and `content` tells the model why. */
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

/** Suggestions: at most 100 `values`, and how many there are. */
export interface Completion {
  readonly values: ReadonlyArray<string>
  readonly total?: number
  readonly hasMore?: boolean
}

/** A folder that a client offers; `uri` is a file URI. */
export interface Root {
  readonly uri: string
  readonly name?: string
  readonly _meta?: Meta
}

/** The levels of RFC 5424, least severe first. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"

export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string
  /** Any JSON value. */
  readonly data: unknown
  readonly _meta?: Meta
}

/** Progress of a request: `progress` grows from event to event. */
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

/** A question to the client's model (spec: client/sampling). */
export interface SamplingParams {
  readonly messages: ReadonlyArray<SamplingMessage>
  readonly maxTokens: number
  readonly systemPrompt?: string
  /** Priorities from 0 to 1; hints are parts of names of models, the first that matches wins. */
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
  /** "endTurn", "stopSequence", "maxTokens", "toolUse", or a provider's own word. */
  readonly stopReason?: string
}

/** A form for the user (spec: client/elicitation): flat, of strings, numbers, booleans and choices. */
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

/** `accept` of a form has `content`; `accept` of a URL is consent, not completion. */
export interface ElicitationAnswer {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: { readonly [name: string]: string | number | boolean | ReadonlyArray<string> }
}

/** What a client or a server declares that it can do. */
export interface Capabilities {
  readonly [name: string]: JsonObject | undefined
}

export type { Annotations }
