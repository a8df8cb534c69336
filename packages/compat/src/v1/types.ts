/** `@modelcontextprotocol/sdk/types.js`: errors, types, and the schemas by which v1 names methods and results. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import { plain } from "../model/plain.ts"
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

export { isInitializeRequest } from "../http/handler.ts"
export { ErrorCode, McpError, UrlElicitationRequiredError } from "../model/errors.ts"
export type * from "../model/types.ts"
export { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from "../model/versions.ts"

/** A schema that admits every value: messages are validated by the actor, for their revision. */
const admitting = <A>() => {
  const validate = (value: unknown): StandardSchemaV1.Result<A> => ({ value: plain<A>(value) })
  return {
    "~standard": { version: 1 as const, vendor: "effect-mcp", validate } satisfies StandardSchemaV1.Props<unknown, A>,
    parse: (value: unknown): A => plain<A>(value)
  }
}

/** A schema that names the method of its requests or notifications. */
const ofMethod = <M extends string>(method: M) => ({
  ...admitting<{ method: M; params: object }>(),
  shape: { method: { value: method } }
})

export const CallToolRequestSchema = ofMethod("tools/call")
export const ListToolsRequestSchema = ofMethod("tools/list")
export const GetPromptRequestSchema = ofMethod("prompts/get")
export const ListPromptsRequestSchema = ofMethod("prompts/list")
export const ListResourcesRequestSchema = ofMethod("resources/list")
export const ListResourceTemplatesRequestSchema = ofMethod("resources/templates/list")
export const ReadResourceRequestSchema = ofMethod("resources/read")
export const SubscribeRequestSchema = ofMethod("resources/subscribe")
export const UnsubscribeRequestSchema = ofMethod("resources/unsubscribe")
export const CompleteRequestSchema = ofMethod("completion/complete")
export const SetLevelRequestSchema = ofMethod("logging/setLevel")
export const CreateMessageRequestSchema = ofMethod("sampling/createMessage")
export const ElicitRequestSchema = ofMethod("elicitation/create")
export const ListRootsRequestSchema = ofMethod("roots/list")
export const InitializedNotificationSchema = ofMethod("notifications/initialized")
export const LoggingMessageNotificationSchema = ofMethod("notifications/message")
export const ResourceUpdatedNotificationSchema = ofMethod("notifications/resources/updated")
export const ResourceListChangedNotificationSchema = ofMethod("notifications/resources/list_changed")
export const ToolListChangedNotificationSchema = ofMethod("notifications/tools/list_changed")
export const PromptListChangedNotificationSchema = ofMethod("notifications/prompts/list_changed")
export const RootsListChangedNotificationSchema = ofMethod("notifications/roots/list_changed")
export const ElicitationCompleteNotificationSchema = ofMethod("notifications/elicitation/complete")

export const CallToolResultSchema = admitting<CallToolResult>()
export const ListToolsResultSchema = admitting<ListToolsResult>()
export const GetPromptResultSchema = admitting<GetPromptResult>()
export const ListPromptsResultSchema = admitting<ListPromptsResult>()
export const ListResourcesResultSchema = admitting<ListResourcesResult>()
export const ListResourceTemplatesResultSchema = admitting<ListResourceTemplatesResult>()
export const ReadResourceResultSchema = admitting<ReadResourceResult>()
export const CompleteResultSchema = admitting<CompleteResult>()
export const CreateMessageResultSchema = admitting<CreateMessageResult>()
export const ElicitResultSchema = admitting<ElicitResult>()
export const ListRootsResultSchema = admitting<ListRootsResult>()
export const EmptyResultSchema = admitting<EmptyResult>()
