/**
 * Sampling: a server asks the client's model for a message.
 */
import * as Schema from "effect/Schema"
import { AudioContent, ImageContent, Role, TextContent, ToolResultContent, ToolUseContent } from "./Content.ts"
import { metaFields, requestFields } from "./Meta.ts"
import { JsonObject, struct } from "./Shape.ts"
import { Tool } from "./Tool.ts"

/** Content of a message of sampling. */
export const SamplingContent = Schema.Union([
  TextContent,
  ImageContent,
  AudioContent,
  ToolUseContent,
  ToolResultContent
])
export type SamplingContent = typeof SamplingContent.Type

const message = { role: Role, content: Schema.Union([SamplingContent, Schema.Array(SamplingContent)]), ...metaFields }

/** A message that the model of the client reads. */
export const SamplingMessage = struct("SamplingMessage", message)
export type SamplingMessage = typeof SamplingMessage.Type

/** A part of the name of a model that the server prefers. */
export const ModelHint = struct("ModelHint", { name: Schema.optionalKey(Schema.String) })
export type ModelHint = typeof ModelHint.Type

/** Priorities run from 0 to 1; hints are parts of model names, first match wins. */
export const ModelPreferences = struct("ModelPreferences", {
  hints: Schema.optionalKey(Schema.Array(ModelHint)),
  costPriority: Schema.optionalKey(Schema.Finite),
  speedPriority: Schema.optionalKey(Schema.Finite),
  intelligencePriority: Schema.optionalKey(Schema.Finite)
})
export type ModelPreferences = typeof ModelPreferences.Type

/** Whether the model may or must use tools. */
export const ToolChoice = struct("ToolChoice", {
  mode: Schema.optionalKey(Schema.Literals(["auto", "required", "none"]))
})
export type ToolChoice = typeof ToolChoice.Type

/** The params of `sampling/createMessage`. */
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

/** `stopReason` is "endTurn", "stopSequence", "maxTokens", "toolUse" or a provider's own word. */
export const CreateMessageResult = struct("CreateMessageResult", {
  ...message,
  model: Schema.String,
  stopReason: Schema.optionalKey(Schema.String)
})
export type CreateMessageResult = typeof CreateMessageResult.Type
