/**
 * Every message of the stateful era, and its codec in each revision; the newer one keeps most of them.
 *
 * One line per method: the schema of its params and of its result. Which methods a revision lacks, and its rules, are in its file.
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
import * as Tool from "../model/Tool.ts"
import type { MethodCodec, Version } from "../Revision.ts"
import { dated } from "./Dated.ts"

const empty = dated(Meta.EmptyResult)
const noParams = dated(Schema.UndefinedOr(Meta.RequestParams))
const page = dated(Schema.UndefinedOr(Meta.PaginatedParams))
const bare = dated(Schema.UndefinedOr(Meta.NotificationParams))
const cancelled = dated(Progress.CancelledParams)
const progress = dated(Progress.ProgressParams)
const initializeParams = dated(Lifecycle.InitializeParams)
const initializeResult = dated(Lifecycle.InitializeResult)
const completeParams = dated(Completion.CompleteParams)
const completeResult = dated(Completion.CompleteResult)
const setLevelParams = dated(Logging.SetLevelParams)
const logMessage = dated(Logging.LogMessageParams)
const getPromptParams = dated(Prompt.GetPromptParams)
const getPromptResult = dated(Prompt.GetPromptResult)
const listPromptsResult = dated(Prompt.ListPromptsResult)
const listResourcesResult = dated(Resource.ListResourcesResult)
const listTemplatesResult = dated(Resource.ListResourceTemplatesResult)
const readParams = dated(Resource.ReadResourceParams)
const readResult = dated(Resource.ReadResourceResult)
const subscribeParams = dated(Resource.SubscribeParams)
const updated = dated(Resource.UpdatedParams)
const callToolParams = dated(Tool.CallToolParams)
const callToolResult = dated(Tool.CallToolResult)
const listToolsResult = dated(Tool.ListToolsResult)
const listRootsResult = dated(Root.ListRootsResult)
const createMessageParams = dated(Sampling.CreateMessageParams)
const createMessageResult = dated(Sampling.CreateMessageResult)
const elicitParams = dated(Elicitation.ElicitParams)
const elicitResult = dated(Elicitation.ElicitResult)
const elicitationComplete = dated(Elicitation.ElicitationCompleteParams)

const codec = <P, R>(params: Schema.Codec<P, unknown>, result: Schema.Codec<R, unknown>): MethodCodec<P, R> => ({
  params,
  result
})

/** The codecs of all messages as `v` writes them. */
export const messages = (v: Version) => ({
  requests: {
    initialize: codec(initializeParams[v], initializeResult[v]),
    ping: codec(noParams[v], empty[v]),
    "completion/complete": codec(completeParams[v], completeResult[v]),
    "logging/setLevel": codec(setLevelParams[v], empty[v]),
    "prompts/get": codec(getPromptParams[v], getPromptResult[v]),
    "prompts/list": codec(page[v], listPromptsResult[v]),
    "resources/list": codec(page[v], listResourcesResult[v]),
    "resources/templates/list": codec(page[v], listTemplatesResult[v]),
    "resources/read": codec(readParams[v], readResult[v]),
    "resources/subscribe": codec(subscribeParams[v], empty[v]),
    "resources/unsubscribe": codec(subscribeParams[v], empty[v]),
    "tools/call": codec(callToolParams[v], callToolResult[v]),
    "tools/list": codec(page[v], listToolsResult[v])
  },
  clientRequests: {
    ping: codec(noParams[v], empty[v]),
    "roots/list": codec(noParams[v], listRootsResult[v]),
    "sampling/createMessage": codec(createMessageParams[v], createMessageResult[v]),
    "elicitation/create": codec(elicitParams[v], elicitResult[v])
  },
  clientNotifications: {
    "notifications/cancelled": cancelled[v],
    "notifications/progress": progress[v],
    "notifications/initialized": bare[v],
    "notifications/roots/list_changed": bare[v]
  },
  serverNotifications: {
    "notifications/cancelled": cancelled[v],
    "notifications/progress": progress[v],
    "notifications/message": logMessage[v],
    "notifications/resources/updated": updated[v],
    "notifications/resources/list_changed": bare[v],
    "notifications/tools/list_changed": bare[v],
    "notifications/prompts/list_changed": bare[v],
    "notifications/elicitation/complete": elicitationComplete[v]
  }
})
