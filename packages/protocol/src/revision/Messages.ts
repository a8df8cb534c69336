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
import type { MethodCodec, Version } from "./types.ts"
import { type Dated, dated } from "./Dated.ts"

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

/** The codecs of one method in one revision, which are made when they are needed. */
export const codec = <P, R>(params: Dated<P>, result: Dated<R>, v: Version): MethodCodec<P, R> => ({
  get params() {
    return params[v]
  },
  get result() {
    return result[v]
  }
})

/** A table without one of its messages; what is made when it is needed stays so. */
export const without = <T extends object, K extends keyof T>(table: T, message: K): Omit<T, K> => {
  const { [message]: _gone, ...others } = Object.getOwnPropertyDescriptors(table)
  // The descriptors of all but one property make an object with all but that property.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.defineProperties({}, others) as Omit<T, K>
}

/** The codecs of all messages as `v` writes them. */
export const messages = (v: Version) => ({
  requests: {
    initialize: codec(initializeParams, initializeResult, v),
    ping: codec(noParams, empty, v),
    "completion/complete": codec(completeParams, completeResult, v),
    "logging/setLevel": codec(setLevelParams, empty, v),
    "prompts/get": codec(getPromptParams, getPromptResult, v),
    "prompts/list": codec(page, listPromptsResult, v),
    "resources/list": codec(page, listResourcesResult, v),
    "resources/templates/list": codec(page, listTemplatesResult, v),
    "resources/read": codec(readParams, readResult, v),
    "resources/subscribe": codec(subscribeParams, empty, v),
    "resources/unsubscribe": codec(subscribeParams, empty, v),
    "tools/call": codec(callToolParams, callToolResult, v),
    "tools/list": codec(page, listToolsResult, v)
  },
  clientRequests: {
    ping: codec(noParams, empty, v),
    "roots/list": codec(noParams, listRootsResult, v),
    "sampling/createMessage": codec(createMessageParams, createMessageResult, v),
    "elicitation/create": codec(elicitParams, elicitResult, v)
  },
  clientNotifications: {
    get "notifications/cancelled"() {
      return cancelled[v]
    },
    get "notifications/progress"() {
      return progress[v]
    },
    get "notifications/initialized"() {
      return bare[v]
    },
    get "notifications/roots/list_changed"() {
      return bare[v]
    }
  },
  serverNotifications: {
    get "notifications/cancelled"() {
      return cancelled[v]
    },
    get "notifications/progress"() {
      return progress[v]
    },
    get "notifications/message"() {
      return logMessage[v]
    },
    get "notifications/resources/updated"() {
      return updated[v]
    },
    get "notifications/resources/list_changed"() {
      return bare[v]
    },
    get "notifications/tools/list_changed"() {
      return bare[v]
    },
    get "notifications/prompts/list_changed"() {
      return bare[v]
    },
    get "notifications/elicitation/complete"() {
      return elicitationComplete[v]
    }
  }
})
