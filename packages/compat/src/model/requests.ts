/** Requests, notifications and results by method, in the form that a program's handlers use. */
import type {
  CallToolResult,
  ClientCapabilities,
  CompleteResult,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  EmptyResult,
  GetPromptResult,
  Implementation,
  InputRequiredResult,
  JsonObject,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListRootsResult,
  ListToolsResult,
  LoggingLevel,
  ReadResourceResult,
  RequestId
} from "./types.ts"

interface Meta {
  _meta?: ({ progressToken?: RequestId | undefined } & JsonObject) | undefined
}

/** Params of lists. */
export interface PaginatedRequestParams extends Meta {
  cursor?: string | undefined
}
export interface CallToolRequestParams extends Meta {
  name: string
  arguments?: JsonObject | undefined
}
export interface GetPromptRequestParams extends Meta {
  name: string
  arguments?: { [name: string]: string } | undefined
}
/** Params for reading a resource and for subscribing to it. */
export interface ReadResourceRequestParams extends Meta {
  uri: string
}
export interface CompleteRequestParams extends Meta {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string }
  argument: { name: string; value: string }
  context?: { arguments?: { [name: string]: string } | undefined } | undefined
}
export interface SetLevelRequestParams extends Meta {
  level: LoggingLevel
}
export interface InitializeRequestParams extends Meta {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}
export type ElicitRequestParams = ElicitRequestFormParams | ElicitRequestURLParams

interface Types<P, R> {
  params: P
  result: R
}

/** Requests from a client to a server. All have params, although the specification lets clients omit them for lists. */
export interface ClientRequestTypes {
  "tools/list": Types<PaginatedRequestParams, ListToolsResult>
  "tools/call": Types<CallToolRequestParams, CallToolResult | InputRequiredResult>
  "prompts/list": Types<PaginatedRequestParams, ListPromptsResult>
  "prompts/get": Types<GetPromptRequestParams, GetPromptResult | InputRequiredResult>
  "resources/list": Types<PaginatedRequestParams, ListResourcesResult>
  "resources/templates/list": Types<PaginatedRequestParams, ListResourceTemplatesResult>
  "resources/read": Types<ReadResourceRequestParams, ReadResourceResult | InputRequiredResult>
  "resources/subscribe": Types<ReadResourceRequestParams, EmptyResult>
  "resources/unsubscribe": Types<ReadResourceRequestParams, EmptyResult>
  "completion/complete": Types<CompleteRequestParams, CompleteResult>
  "logging/setLevel": Types<SetLevelRequestParams, EmptyResult>
  ping: Types<Meta, EmptyResult>
}

/** Requests from a server to a client. */
export interface ServerRequestTypes {
  "elicitation/create": Types<ElicitRequestParams, ElicitResult>
  "sampling/createMessage": Types<CreateMessageRequestParams, CreateMessageResult>
  "roots/list": Types<Meta, ListRootsResult>
  ping: Types<Meta, EmptyResult>
}

/** Params of notifications, in both directions. */
export interface NotificationTypes {
  "notifications/message": { level: LoggingLevel; data?: unknown; logger?: string | undefined }
  "notifications/progress": {
    progressToken: RequestId
    progress: number
    total?: number | undefined
    message?: string | undefined
  }
  "notifications/cancelled": { requestId?: RequestId | undefined; reason?: string | undefined }
  "notifications/initialized": Meta
  "notifications/roots/list_changed": Meta
  "notifications/tools/list_changed": Meta
  "notifications/prompts/list_changed": Meta
  "notifications/resources/list_changed": Meta
  "notifications/resources/updated": { uri: string }
  "notifications/elicitation/complete": { elicitationId: string }
}

/** Requests in both directions. */
export interface RequestTypes extends Omit<ClientRequestTypes, "ping">, ServerRequestTypes {}
export type RequestMethod = keyof RequestTypes
export type NotificationMethod = keyof NotificationTypes

/** A request in the form that handlers receive. */
export interface RequestOf<M extends RequestMethod> {
  method: M
  params: RequestTypes[M]["params"]
}
/** The result of a method. For a method that is not part of MCP, any object. */
export type ResultOf<M> = M extends RequestMethod ? RequestTypes[M]["result"] : object

/** A notification in the form that handlers receive. */
export interface NotificationOf<M extends NotificationMethod> {
  method: M
  params: NotificationTypes[M]
}

export type ListToolsRequest = RequestOf<"tools/list">
export type CallToolRequest = RequestOf<"tools/call">
export type ListPromptsRequest = RequestOf<"prompts/list">
export type GetPromptRequest = RequestOf<"prompts/get">
export type ListResourcesRequest = RequestOf<"resources/list">
export type ListResourceTemplatesRequest = RequestOf<"resources/templates/list">
export type ReadResourceRequest = RequestOf<"resources/read">
export type SubscribeRequest = RequestOf<"resources/subscribe">
export type UnsubscribeRequest = RequestOf<"resources/unsubscribe">
export type CompleteRequest = RequestOf<"completion/complete">
export type SetLevelRequest = RequestOf<"logging/setLevel">
export type ElicitRequest = RequestOf<"elicitation/create">
export type CreateMessageRequest = RequestOf<"sampling/createMessage">
export type ListRootsRequest = RequestOf<"roots/list">
export type LoggingMessageNotification = NotificationOf<"notifications/message">
export type ProgressNotification = NotificationOf<"notifications/progress">
export type CancelledNotification = NotificationOf<"notifications/cancelled">
export type ResourceUpdatedNotification = NotificationOf<"notifications/resources/updated">
