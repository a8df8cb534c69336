/** `@modelcontextprotocol/sdk/types.js`: errors, types, and the schemas that v1 uses to name methods and results. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import { plain } from "../model/plain.ts"
import type { NotificationMethod, NotificationOf, RequestMethod, RequestOf } from "../model/requests.ts"
import type {
  CallToolResult,
  CompleteResult,
  CreateMessageResult,
  ElicitResult,
  EmptyResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListRootsResult,
  ListToolsResult,
  ReadResourceResult
} from "../model/types.ts"
import { vendor } from "../server/methods.ts"

export { isInitializeRequest } from "../http/handler.ts"
export { ErrorCode, McpError } from "../model/errors.ts"
export { UrlElicitationRequiredError } from "./errors.ts"
export type * from "../model/requests.ts"
export type * from "../model/types.ts"
export { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from "../model/versions.ts"

/** A schema that accepts every value, because the actor validates messages according to their revision. */
interface Admitting<A> extends StandardSchemaV1<unknown, A> {
  readonly parse: (value: unknown) => A
}

const admitting = <A>(): Admitting<A> => ({
  "~standard": { version: 1, vendor, validate: (value) => ({ value: plain<A>(value) }) },
  parse: (value) => plain<A>(value)
})

/** Returns a schema that names the method of its requests. */
const ofMethod = <M extends RequestMethod>(method: M) => ({
  ...admitting<RequestOf<M>>(),
  shape: { method: { value: method } }
})

/** Returns a schema that names the method of its notifications. */
const ofNotification = <M extends NotificationMethod>(method: M) => ({
  ...admitting<NotificationOf<M>>(),
  shape: { method: { value: method } }
})

/** Requests of `tools/call`. */
export const CallToolRequestSchema = ofMethod("tools/call")
/** Requests of `tools/list`. */
export const ListToolsRequestSchema = ofMethod("tools/list")
/** Requests of `prompts/get`. */
export const GetPromptRequestSchema = ofMethod("prompts/get")
/** Requests of `prompts/list`. */
export const ListPromptsRequestSchema = ofMethod("prompts/list")
/** Requests of `resources/list`. */
export const ListResourcesRequestSchema = ofMethod("resources/list")
/** Requests of `resources/templates/list`. */
export const ListResourceTemplatesRequestSchema = ofMethod("resources/templates/list")
/** Requests of `resources/read`. */
export const ReadResourceRequestSchema = ofMethod("resources/read")
/** Requests of `resources/subscribe`. */
export const SubscribeRequestSchema = ofMethod("resources/subscribe")
/** Requests of `resources/unsubscribe`. */
export const UnsubscribeRequestSchema = ofMethod("resources/unsubscribe")
/** Requests of `completion/complete`. */
export const CompleteRequestSchema = ofMethod("completion/complete")
/** Requests of `logging/setLevel`. */
export const SetLevelRequestSchema = ofMethod("logging/setLevel")
/** Requests of `sampling/createMessage`. */
export const CreateMessageRequestSchema = ofMethod("sampling/createMessage")
/** Requests of `elicitation/create`. */
export const ElicitRequestSchema = ofMethod("elicitation/create")
/** Requests of `roots/list`. */
export const ListRootsRequestSchema = ofMethod("roots/list")
/** Requests of `ping`. */
export const PingRequestSchema = ofMethod("ping")
/** Notifications of `notifications/progress`. */
export const ProgressNotificationSchema = ofNotification("notifications/progress")
/** Notifications of `notifications/cancelled`. */
export const CancelledNotificationSchema = ofNotification("notifications/cancelled")
/** Notifications of `notifications/initialized`. */
export const InitializedNotificationSchema = ofNotification("notifications/initialized")
/** Notifications of `notifications/message`. */
export const LoggingMessageNotificationSchema = ofNotification("notifications/message")
/** Notifications of `notifications/resources/updated`. */
export const ResourceUpdatedNotificationSchema = ofNotification("notifications/resources/updated")
/** Notifications of `notifications/resources/list_changed`. */
export const ResourceListChangedNotificationSchema = ofNotification("notifications/resources/list_changed")
/** Notifications of `notifications/tools/list_changed`. */
export const ToolListChangedNotificationSchema = ofNotification("notifications/tools/list_changed")
/** Notifications of `notifications/prompts/list_changed`. */
export const PromptListChangedNotificationSchema = ofNotification("notifications/prompts/list_changed")
/** Notifications of `notifications/roots/list_changed`. */
export const RootsListChangedNotificationSchema = ofNotification("notifications/roots/list_changed")
/** Notifications of `notifications/elicitation/complete`. */
export const ElicitationCompleteNotificationSchema = ofNotification("notifications/elicitation/complete")

/** Results of the type `CallToolResult`. */
export const CallToolResultSchema = admitting<CallToolResult>()
/** Results of the type `ListToolsResult`. */
export const ListToolsResultSchema = admitting<ListToolsResult>()
/** Results of the type `GetPromptResult`. */
export const GetPromptResultSchema = admitting<GetPromptResult>()
/** Results of the type `ListPromptsResult`. */
export const ListPromptsResultSchema = admitting<ListPromptsResult>()
/** Results of the type `ListResourcesResult`. */
export const ListResourcesResultSchema = admitting<ListResourcesResult>()
/** Results of the type `ListResourceTemplatesResult`. */
export const ListResourceTemplatesResultSchema = admitting<ListResourceTemplatesResult>()
/** Results of the type `ReadResourceResult`. */
export const ReadResourceResultSchema = admitting<ReadResourceResult>()
/** Results of the type `CompleteResult`. */
export const CompleteResultSchema = admitting<CompleteResult>()
/** Results of the type `CreateMessageResult`. */
export const CreateMessageResultSchema = admitting<CreateMessageResult>()
/** Results of the type `ElicitResult`. */
export const ElicitResultSchema = admitting<ElicitResult>()
/** Results of the type `ListRootsResult`. */
export const ListRootsResultSchema = admitting<ListRootsResult>()
/** Results of the type `EmptyResult`. */
export const EmptyResultSchema = admitting<EmptyResult>()
