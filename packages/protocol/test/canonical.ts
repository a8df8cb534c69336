/** The canonical schema of every message, and of what goes around messages, by the name that `Codec.test.ts` gives it. */
import * as Schema from "effect/Schema"
import * as Protocol from "@effect-mcp/protocol"

const { Completion, Declaration, Discover, Elicitation, Input, Lifecycle, Logging, Meta, Progress } = Protocol
const { Prompt, Resource, Root, Sampling, Subscriptions, Tool } = Protocol

type Model = Schema.Codec<unknown>
const call = (name: string, params: Model, result: Model): ReadonlyArray<readonly [string, Model]> => [
  [`${name} params`, params],
  [`${name} result`, result]
]
const page = Schema.UndefinedOr(Meta.PaginatedParams)
const none = Schema.UndefinedOr(Meta.RequestParams)
const bare = Schema.UndefinedOr(Meta.NotificationParams)

export const canonical: ReadonlyMap<string, Model> = new Map([
  ["declaration", Declaration.Declaration],
  // With a state, since the generator is slow to find out that it needs one of the two.
  ["inputRequired", Schema.Struct({ ...Input.InputRequiredResult.fields, requestState: Schema.String })],
  ...call("clientRequests server/discover", Meta.RequestParams, Discover.DiscoverResult),
  ...call("clientRequests subscriptions/listen", Subscriptions.ListenParams, Subscriptions.ListenResult),
  ...call("clientRequests initialize", Lifecycle.InitializeParams, Lifecycle.InitializeResult),
  ...call("clientRequests ping", none, Meta.EmptyResult),
  ...call("clientRequests completion/complete", Completion.CompleteParams, Completion.CompleteResult),
  ...call("clientRequests logging/setLevel", Logging.SetLevelParams, Meta.EmptyResult),
  ...call("clientRequests prompts/get", Prompt.GetPromptParams, Prompt.GetPromptResult),
  ...call("clientRequests prompts/list", page, Prompt.ListPromptsResult),
  ...call("clientRequests resources/list", page, Resource.ListResourcesResult),
  ...call("clientRequests resources/templates/list", page, Resource.ListResourceTemplatesResult),
  ...call("clientRequests resources/read", Resource.ReadResourceParams, Resource.ReadResourceResult),
  ...call("clientRequests resources/subscribe", Resource.SubscribeParams, Meta.EmptyResult),
  ...call("clientRequests resources/unsubscribe", Resource.SubscribeParams, Meta.EmptyResult),
  ...call("clientRequests tools/call", Tool.CallToolParams, Tool.CallToolResult),
  ...call("clientRequests tools/list", page, Tool.ListToolsResult),
  ...call("serverRequests ping", none, Meta.EmptyResult),
  ...call("serverRequests roots/list", none, Root.ListRootsResult),
  ...call("serverRequests sampling/createMessage", Sampling.CreateMessageParams, Sampling.CreateMessageResult),
  ...call("serverRequests elicitation/create", Elicitation.ElicitParams, Elicitation.ElicitResult),
  ["clientNotifications notifications/cancelled", Progress.CancelledParams],
  ["clientNotifications notifications/progress", Progress.ProgressParams],
  ["clientNotifications notifications/initialized", bare],
  ["clientNotifications notifications/roots/list_changed", bare],
  ["serverNotifications notifications/cancelled", Progress.CancelledParams],
  ["serverNotifications notifications/progress", Progress.ProgressParams],
  ["serverNotifications notifications/message", Logging.LogMessageParams],
  ["serverNotifications notifications/resources/updated", Resource.UpdatedParams],
  ["serverNotifications notifications/resources/list_changed", bare],
  ["serverNotifications notifications/tools/list_changed", bare],
  ["serverNotifications notifications/prompts/list_changed", bare],
  ["serverNotifications notifications/elicitation/complete", Elicitation.ElicitationCompleteParams],
  ["serverNotifications notifications/subscriptions/acknowledged", Subscriptions.AcknowledgedParams]
])
