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
  ...call("requests server/discover", Meta.RequestParams, Discover.DiscoverResult),
  ...call("requests subscriptions/listen", Subscriptions.ListenParams, Subscriptions.ListenResult),
  ...call("requests initialize", Lifecycle.InitializeParams, Lifecycle.InitializeResult),
  ...call("requests ping", none, Meta.EmptyResult),
  ...call("requests completion/complete", Completion.CompleteParams, Completion.CompleteResult),
  ...call("requests logging/setLevel", Logging.SetLevelParams, Meta.EmptyResult),
  ...call("requests prompts/get", Prompt.GetPromptParams, Prompt.GetPromptResult),
  ...call("requests prompts/list", page, Prompt.ListPromptsResult),
  ...call("requests resources/list", page, Resource.ListResourcesResult),
  ...call("requests resources/templates/list", page, Resource.ListResourceTemplatesResult),
  ...call("requests resources/read", Resource.ReadResourceParams, Resource.ReadResourceResult),
  ...call("requests resources/subscribe", Resource.SubscribeParams, Meta.EmptyResult),
  ...call("requests resources/unsubscribe", Resource.SubscribeParams, Meta.EmptyResult),
  ...call("requests tools/call", Tool.CallToolParams, Tool.CallToolResult),
  ...call("requests tools/list", page, Tool.ListToolsResult),
  ...call("clientRequests ping", none, Meta.EmptyResult),
  ...call("clientRequests roots/list", none, Root.ListRootsResult),
  ...call("clientRequests sampling/createMessage", Sampling.CreateMessageParams, Sampling.CreateMessageResult),
  ...call("clientRequests elicitation/create", Elicitation.ElicitParams, Elicitation.ElicitResult),
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
