/** The SDK's public types: plain JSON with mutable members. */
import type * as P from "@effect-mcp/promise"

/** The same shape with mutable members. Optional members may also be `undefined`. */
export type Mutable<T> = T extends (...args: ReadonlyArray<never>) => unknown
  ? T
  : T extends ReadonlyArray<unknown>
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T extends object
      ? {
          -readonly [K in keyof T]: {} extends Pick<T, K> ? Mutable<T[K]> | undefined : Mutable<T[K]>
        }
      : T

/** A JSON object. */
export interface JsonObject {
  [key: string]: unknown
}

interface WithMeta {
  _meta?: JsonObject | undefined
}

export type TextContent = Mutable<P.TextContent>
export type ImageContent = Mutable<P.ImageContent>
export type AudioContent = Mutable<P.AudioContent>
export type EmbeddedResource = Mutable<P.EmbeddedResource>
export type ResourceLink = Mutable<P.ResourceLink>
export type ContentBlock = Mutable<P.ContentBlock>
export type ResourceContents = Mutable<P.ResourceContents>
export type Resource = Mutable<P.Resource>
export type ResourceTemplateType = Mutable<P.ResourceTemplate>
export type Tool = Mutable<P.Tool>
export type ToolAnnotations = Mutable<P.ToolAnnotations>
export type Prompt = Mutable<P.Prompt>
export type PromptMessage = Mutable<P.PromptMessage>
export type Icon = Mutable<P.Icon>
export type Annotations = Mutable<P.Annotations>
export type Implementation = Mutable<P.Implementation>
export type Root = Mutable<P.Root>
export type LoggingLevel = P.LogLevel
export type Progress = Mutable<P.ProgressEvent>
export type SamplingMessage = Mutable<P.SamplingMessage>
export type CreateMessageRequestParams = Mutable<P.SamplingParams>
export type CreateMessageResult = Mutable<P.SamplingResult>
export type ElicitResult = {
  action: "accept" | "decline" | "cancel"
  content?: { [field: string]: string | number | boolean | Array<string> } | undefined
}

export interface CallToolResult extends WithMeta {
  content: Array<ContentBlock>
  structuredContent?: unknown
  isError?: boolean | undefined
  [key: string]: unknown
}

export interface ReadResourceResult extends WithMeta {
  contents: Array<ResourceContents>
  [key: string]: unknown
}

export interface GetPromptResult extends WithMeta {
  description?: string | undefined
  messages: Array<PromptMessage>
  [key: string]: unknown
}

interface Page extends WithMeta {
  nextCursor?: string | undefined
  [key: string]: unknown
}

export interface ListToolsResult extends Page {
  tools: Array<Tool>
}
export interface ListPromptsResult extends Page {
  prompts: Array<Prompt>
}
export interface ListResourcesResult extends Page {
  resources: Array<Resource>
}
export interface ListResourceTemplatesResult extends Page {
  resourceTemplates: Array<ResourceTemplateType>
}
export interface ListRootsResult extends WithMeta {
  roots: Array<Root>
  [key: string]: unknown
}
export interface CompleteResult extends WithMeta {
  completion: { values: Array<string>; total?: number | undefined; hasMore?: boolean | undefined }
  [key: string]: unknown
}
/** A server's description of itself (2026-07-28). */
export interface DiscoverResult extends WithMeta {
  supportedVersions: Array<string>
  capabilities: ServerCapabilities
  instructions?: string | undefined
  [key: string]: unknown
}
/** Facts about a server that are known before connecting, from a client's `getDiscoverResult`. */
export type PriorDiscovery = { kind: "modern"; discover: DiscoverResult } | { kind: "legacy" }
export interface EmptyResult extends WithMeta {
  [key: string]: unknown
}

/** A field of a form. */
export type PrimitiveSchemaDefinition = JsonObject

export interface ElicitRequestFormParams extends WithMeta {
  mode?: "form" | undefined
  message: string
  requestedSchema: {
    type: "object"
    properties: { [field: string]: PrimitiveSchemaDefinition }
    required?: Array<string> | undefined
    [key: string]: unknown
  }
}

export interface ElicitRequestURLParams extends WithMeta {
  mode: "url"
  message: string
  url: string
  elicitationId: string
}

/** A question to the client within a result (2026-07-28). */
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list"
  params?: object | undefined
}

/** A result that asks for input. The handler is called again with the answers. */
export interface InputRequiredResult {
  resultType: "input_required"
  inputRequests?: { [key: string]: InputRequest } | undefined
  requestState?: string | undefined
  [key: string]: unknown
}

export interface ServerCapabilities {
  tools?: { listChanged?: boolean | undefined } | undefined
  resources?: { listChanged?: boolean | undefined; subscribe?: boolean | undefined } | undefined
  prompts?: { listChanged?: boolean | undefined } | undefined
  completions?: object | undefined
  logging?: object | undefined
  experimental?: { [name: string]: object } | undefined
  extensions?: { [id: string]: object } | undefined
  [key: string]: unknown
}

export interface ClientCapabilities {
  roots?: { listChanged?: boolean | undefined } | undefined
  sampling?: { tools?: object | undefined; context?: object | undefined } | undefined
  elicitation?: { form?: object | undefined; url?: object | undefined } | undefined
  experimental?: { [name: string]: object } | undefined
  extensions?: { [id: string]: object } | undefined
  [key: string]: unknown
}

export type RequestId = string | number

export interface Request {
  method: string
  params?: JsonObject | undefined
}
export type Notification = Request

/** Facts about an authenticated caller, in `req.auth` or the options of a handler. */
export interface AuthInfo {
  token: string
  clientId: string
  scopes: Array<string>
  /** In seconds since 1970. */
  expiresAt?: number | undefined
  resource?: URL | undefined
  extra?: JsonObject | undefined
}
