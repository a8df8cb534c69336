/**
 * The codecs of every method of the stateful era, per revision; the stateless revision takes most of them over.
 *
 * One line per method: the schema of its params and of its result. The methods that a revision lacks and its rules are in its own file.
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
import type { MethodCodec } from "./types.ts"
import { type PerRevision, perRevision, type Select } from "./PerRevision.ts"

const empty = perRevision(Meta.EmptyResult)
const noParams = perRevision(Schema.UndefinedOr(Meta.RequestParams))
const page = perRevision(Schema.UndefinedOr(Meta.PaginatedParams))
const bare = perRevision(Schema.UndefinedOr(Meta.NotificationParams))
const cancelled = perRevision(Progress.CancelledParams)
const progress = perRevision(Progress.ProgressParams)
const initializeParams = perRevision(Lifecycle.InitializeParams)
const initializeResult = perRevision(Lifecycle.InitializeResult)
const completeParams = perRevision(Completion.CompleteParams)
const completeResult = perRevision(Completion.CompleteResult)
const setLevelParams = perRevision(Logging.SetLevelParams)
const logMessage = perRevision(Logging.LogMessageParams)
const getPromptParams = perRevision(Prompt.GetPromptParams)
const getPromptResult = perRevision(Prompt.GetPromptResult)
const listPromptsResult = perRevision(Prompt.ListPromptsResult)
const listResourcesResult = perRevision(Resource.ListResourcesResult)
const listTemplatesResult = perRevision(Resource.ListResourceTemplatesResult)
const readParams = perRevision(Resource.ReadResourceParams)
const readResult = perRevision(Resource.ReadResourceResult)
const subscribeParams = perRevision(Resource.SubscribeParams)
const updated = perRevision(Resource.UpdatedParams)
const callToolParams = perRevision(Tool.CallToolParams)
const callToolResult = perRevision(Tool.CallToolResult)
const listToolsResult = perRevision(Tool.ListToolsResult)
const listRootsResult = perRevision(Root.ListRootsResult)
const createMessageParams = perRevision(Sampling.CreateMessageParams)
const createMessageResult = perRevision(Sampling.CreateMessageResult)
const elicitParams = perRevision(Elicitation.ElicitParams)
const elicitResult = perRevision(Elicitation.ElicitResult)
const elicitationComplete = perRevision(Elicitation.ElicitationCompleteParams)

/** The codecs of one method in one revision, made when a value needs them. */
export const codec = <P, R>(params: PerRevision<P>, result: PerRevision<R>, of: Select): MethodCodec<P, R> => ({
  get params() {
    return of(params)
  },
  get result() {
    return of(result)
  }
})

/** The table without one method. The getters of the others are kept, not called. */
export const without = <T extends object, K extends keyof T>(table: T, message: K): Omit<T, K> => {
  const { [message]: _gone, ...others } = Object.getOwnPropertyDescriptors(table)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the descriptors are those of all properties of T but K
  return Object.defineProperties({}, others) as Omit<T, K>
}

/** The codecs of all methods in the revision of `of`, by kind of message. */
export const methodCodecs = (of: Select) => ({
  clientRequests: {
    initialize: codec(initializeParams, initializeResult, of),
    ping: codec(noParams, empty, of),
    "completion/complete": codec(completeParams, completeResult, of),
    "logging/setLevel": codec(setLevelParams, empty, of),
    "prompts/get": codec(getPromptParams, getPromptResult, of),
    "prompts/list": codec(page, listPromptsResult, of),
    "resources/list": codec(page, listResourcesResult, of),
    "resources/templates/list": codec(page, listTemplatesResult, of),
    "resources/read": codec(readParams, readResult, of),
    "resources/subscribe": codec(subscribeParams, empty, of),
    "resources/unsubscribe": codec(subscribeParams, empty, of),
    "tools/call": codec(callToolParams, callToolResult, of),
    "tools/list": codec(page, listToolsResult, of)
  },
  serverRequests: {
    ping: codec(noParams, empty, of),
    "roots/list": codec(noParams, listRootsResult, of),
    "sampling/createMessage": codec(createMessageParams, createMessageResult, of),
    "elicitation/create": codec(elicitParams, elicitResult, of)
  },
  clientNotifications: {
    get "notifications/cancelled"() {
      return of(cancelled)
    },
    get "notifications/progress"() {
      return of(progress)
    },
    get "notifications/initialized"() {
      return of(bare)
    },
    get "notifications/roots/list_changed"() {
      return of(bare)
    }
  },
  serverNotifications: {
    get "notifications/cancelled"() {
      return of(cancelled)
    },
    get "notifications/progress"() {
      return of(progress)
    },
    get "notifications/message"() {
      return of(logMessage)
    },
    get "notifications/resources/updated"() {
      return of(updated)
    },
    get "notifications/resources/list_changed"() {
      return of(bare)
    },
    get "notifications/tools/list_changed"() {
      return of(bare)
    },
    get "notifications/prompts/list_changed"() {
      return of(bare)
    },
    get "notifications/elicitation/complete"() {
      return of(elicitationComplete)
    }
  }
})
