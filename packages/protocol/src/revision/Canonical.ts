/**
 * The canonical codec of every message of the stateful era: the value is the wire.
 *
 * A revision takes a row from here as it is, or wraps it in what `Downgrade` says about it.
 */
import * as Schema from "effect/Schema"
import * as Completion from "../model/Completion.ts"
import * as Elicitation from "../model/Elicitation.ts"
import * as Lifecycle from "../model/Lifecycle.ts"
import * as Logging from "../model/Logging.ts"
import * as Meta from "../model/Meta.ts"
import * as Progress from "../model/Progress.ts"
import * as Prompt from "../model/Prompt.ts"
import * as Resource from "../model/Resource.ts"
import * as Root from "../model/Root.ts"
import * as Sampling from "../model/Sampling.ts"
import { verbatim } from "../model/Shape.ts"
import * as Tool from "../model/Tool.ts"

const request = <P, R>(params: Schema.Codec<P>, result: Schema.Codec<R>) => ({
  params: verbatim(params),
  result: verbatim(result)
})

const anyRequest = Schema.UndefinedOr(Meta.RequestParams)
const anyPage = Schema.UndefinedOr(Meta.PaginatedParams)
const bare = verbatim(Schema.UndefinedOr(Meta.NotificationParams))
const cancelled = verbatim(Progress.CancelledParams)
const progress = verbatim(Progress.ProgressParams)
const ping = request(anyRequest, Meta.EmptyResult)

export const requests = {
  initialize: request(Lifecycle.InitializeParams, Lifecycle.InitializeResult),
  ping,
  "completion/complete": request(Completion.CompleteParams, Completion.CompleteResult),
  "logging/setLevel": request(Logging.SetLevelParams, Meta.EmptyResult),
  "prompts/get": request(Prompt.GetPromptParams, Prompt.GetPromptResult),
  "prompts/list": request(anyPage, Prompt.ListPromptsResult),
  "resources/list": request(anyPage, Resource.ListResourcesResult),
  "resources/templates/list": request(anyPage, Resource.ListResourceTemplatesResult),
  "resources/read": request(Resource.ReadResourceParams, Resource.ReadResourceResult),
  "resources/subscribe": request(Resource.SubscribeParams, Meta.EmptyResult),
  "resources/unsubscribe": request(Resource.SubscribeParams, Meta.EmptyResult),
  "tools/call": request(Tool.CallToolParams, Tool.CallToolResult),
  "tools/list": request(anyPage, Tool.ListToolsResult)
}

export const clientRequests = {
  ping,
  "roots/list": request(anyRequest, Root.ListRootsResult),
  "sampling/createMessage": request(Sampling.CreateMessageParams, Sampling.CreateMessageResult),
  "elicitation/create": request(Elicitation.ElicitParams, Elicitation.ElicitResult)
}

export const clientNotifications = {
  "notifications/cancelled": cancelled,
  "notifications/progress": progress,
  "notifications/initialized": bare,
  "notifications/roots/list_changed": bare
}

export const serverNotifications = {
  "notifications/cancelled": cancelled,
  "notifications/progress": progress,
  "notifications/message": verbatim(Logging.LogMessageParams),
  "notifications/resources/updated": verbatim(Resource.UpdatedParams),
  "notifications/resources/list_changed": bare,
  "notifications/tools/list_changed": bare,
  "notifications/prompts/list_changed": bare,
  "notifications/elicitation/complete": verbatim(Elicitation.ElicitationCompleteParams)
}
