/**
 * Every method by name, with the canonical types of its params and result. What a revision has of them is in its table.
 *
 * Aliases, not interfaces: an interface would not satisfy the index signatures of `Requests` and `Notifications`.
 */
import type * as Completion from "./Completion.ts"
import type * as Discover from "./Discover.ts"
import type * as Elicitation from "./Elicitation.ts"
import type * as Lifecycle from "./Lifecycle.ts"
import type * as Logging from "./Logging.ts"
import type * as Meta from "./Meta.ts"
import type * as Progress from "./Progress.ts"
import type * as Prompt from "./Prompt.ts"
import type * as Resource from "./Resource.ts"
import type * as Root from "./Root.ts"
import type * as Sampling from "./Sampling.ts"
import type * as Subscriptions from "./Subscriptions.ts"
import type * as Tool from "./Tool.ts"

export interface RequestShape<P, R> {
  readonly params: P
  readonly result: R
}
export interface Requests {
  readonly [method: string]: RequestShape<unknown, unknown>
}
export interface Notifications {
  readonly [method: string]: unknown
}

/** What a client may ask a server. */
export type ClientRequests = {
  readonly initialize: RequestShape<Lifecycle.InitializeParams, Lifecycle.InitializeResult>
  readonly ping: RequestShape<Meta.RequestParams | undefined, Meta.EmptyResult>
  readonly "completion/complete": RequestShape<Completion.CompleteParams, Completion.CompleteResult>
  readonly "logging/setLevel": RequestShape<Logging.SetLevelParams, Meta.EmptyResult>
  readonly "prompts/get": RequestShape<Prompt.GetPromptParams, Prompt.GetPromptResult>
  readonly "prompts/list": RequestShape<Meta.PaginatedParams | undefined, Prompt.ListPromptsResult>
  readonly "resources/list": RequestShape<Meta.PaginatedParams | undefined, Resource.ListResourcesResult>
  readonly "resources/templates/list": RequestShape<
    Meta.PaginatedParams | undefined,
    Resource.ListResourceTemplatesResult
  >
  readonly "resources/read": RequestShape<Resource.ReadResourceParams, Resource.ReadResourceResult>
  readonly "resources/subscribe": RequestShape<Resource.SubscribeParams, Meta.EmptyResult>
  readonly "resources/unsubscribe": RequestShape<Resource.SubscribeParams, Meta.EmptyResult>
  readonly "server/discover": RequestShape<Meta.RequestParams, Discover.DiscoverResult>
  readonly "subscriptions/listen": RequestShape<Subscriptions.ListenParams, Subscriptions.ListenResult>
  readonly "tools/call": RequestShape<Tool.CallToolParams, Tool.CallToolResult>
  readonly "tools/list": RequestShape<Meta.PaginatedParams | undefined, Tool.ListToolsResult>
}

/** What a server may ask a client. */
export type ServerRequests = {
  readonly ping: RequestShape<Meta.RequestParams | undefined, Meta.EmptyResult>
  readonly "roots/list": RequestShape<Meta.RequestParams | undefined, Root.ListRootsResult>
  readonly "sampling/createMessage": RequestShape<Sampling.CreateMessageParams, Sampling.CreateMessageResult>
  readonly "elicitation/create": RequestShape<Elicitation.ElicitParams, Elicitation.ElicitResult>
}

/** What a client may tell a server. */
export type ClientNotifications = {
  readonly "notifications/cancelled": Progress.CancelledParams
  readonly "notifications/progress": Progress.ProgressParams
  readonly "notifications/initialized": Meta.NotificationParams | undefined
  readonly "notifications/roots/list_changed": Meta.NotificationParams | undefined
}

/** What a server may tell a client. */
export type ServerNotifications = {
  readonly "notifications/cancelled": Progress.CancelledParams
  readonly "notifications/progress": Progress.ProgressParams
  readonly "notifications/message": Logging.LogMessageParams
  readonly "notifications/resources/updated": Resource.UpdatedParams
  readonly "notifications/resources/list_changed": Meta.NotificationParams | undefined
  readonly "notifications/tools/list_changed": Meta.NotificationParams | undefined
  readonly "notifications/prompts/list_changed": Meta.NotificationParams | undefined
  readonly "notifications/elicitation/complete": Elicitation.ElicitationCompleteParams
  readonly "notifications/subscriptions/acknowledged": Subscriptions.AcknowledgedParams
}
