/** Sampling: a server asks the client's model for a message. */
import * as Schema from "effect/Schema"
import { AudioContent, ImageContent, Role, TextContent, ToolResultContent, ToolUseContent } from "./Content.ts"
import { metaFields, requestFields } from "./Meta.ts"
import { JsonObject, struct } from "./Shape.ts"
import { Tool } from "./Tool.ts"

/** Content of a sampling message. */
export const SamplingContent = Schema.Union([
  TextContent,
  ImageContent,
  AudioContent,
  ToolUseContent,
  ToolResultContent
])
export type SamplingContent = typeof SamplingContent.Type

const message = { role: Role, content: Schema.Union([SamplingContent, Schema.Array(SamplingContent)]), ...metaFields }

/** A message for the client's model. */
export const SamplingMessage = struct("SamplingMessage", message)
export type SamplingMessage = typeof SamplingMessage.Type

/** Part of the name of a model that the server prefers. */
export const ModelHint = struct("ModelHint", { name: Schema.optionalKey(Schema.String) })
export type ModelHint = typeof ModelHint.Type

/** Model preferences. Priorities range from 0 to 1. Hints are parts of model names; the first hint that matches wins. */
export const ModelPreferences = struct("ModelPreferences", {
  hints: Schema.optionalKey(Schema.Array(ModelHint)),
  costPriority: Schema.optionalKey(Schema.Finite),
  speedPriority: Schema.optionalKey(Schema.Finite),
  intelligencePriority: Schema.optionalKey(Schema.Finite)
})
export type ModelPreferences = typeof ModelPreferences.Type

/** How the model may use tools: if it wants to, not at all, or at least once. */
export const ToolChoice = struct("ToolChoice", {
  mode: Schema.optionalKey(Schema.Literals(["auto", "required", "none"]))
})
export type ToolChoice = typeof ToolChoice.Type

/** Params of `sampling/createMessage`. */
export const CreateMessageParams = struct("CreateMessageParams", {
  ...requestFields,
  messages: Schema.Array(SamplingMessage),
  modelPreferences: Schema.optionalKey(ModelPreferences),
  systemPrompt: Schema.optionalKey(Schema.String),
  includeContext: Schema.optionalKey(Schema.Literals(["none", "thisServer", "allServers"])),
  temperature: Schema.optionalKey(Schema.Finite),
  maxTokens: Schema.Finite,
  stopSequences: Schema.optionalKey(Schema.Array(Schema.String)),
  metadata: Schema.optionalKey(JsonObject),
  tools: Schema.optionalKey(Schema.Array(Tool)),
  toolChoice: Schema.optionalKey(ToolChoice)
})
export type CreateMessageParams = typeof CreateMessageParams.Type

/** The model's message. `stopReason` is "endTurn", "stopSequence", "maxTokens", "toolUse" or a provider-specific value. */
export const CreateMessageResult = struct("CreateMessageResult", {
  ...message,
  model: Schema.String,
  stopReason: Schema.optionalKey(Schema.String)
})
export type CreateMessageResult = typeof CreateMessageResult.Type
