/** Prompts: message templates that a user picks by name. */
import * as Schema from "effect/Schema"
import { ContentBlock, Role } from "./Content.ts"
import { iconFields, nameFields } from "./Icon.ts"
import { inputFields, metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** A prompt argument. Its value is text. */
export const PromptArgument = struct("PromptArgument", {
  ...nameFields,
  description: Schema.optionalKey(Schema.String),
  required: Schema.optionalKey(Schema.Boolean)
})
export type PromptArgument = typeof PromptArgument.Type

/** A prompt, as listed by `prompts/list`. */
export const Prompt = struct("Prompt", {
  ...nameFields,
  ...iconFields,
  description: Schema.optionalKey(Schema.String),
  arguments: Schema.optionalKey(Schema.Array(PromptArgument)),
  ...metaFields
})
export type Prompt = typeof Prompt.Type

/** A message for the model. */
export const PromptMessage = struct("PromptMessage", { role: Role, content: ContentBlock })
export type PromptMessage = typeof PromptMessage.Type

/** Params of `prompts/get`. */
export const GetPromptParams = struct("GetPromptParams", {
  ...requestFields,
  ...inputFields,
  name: Schema.String,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type GetPromptParams = typeof GetPromptParams.Type

/** A prompt's messages. */
export const GetPromptResult = struct("GetPromptResult", {
  ...metaFields,
  description: Schema.optionalKey(Schema.String),
  messages: Schema.Array(PromptMessage)
})
export type GetPromptResult = typeof GetPromptResult.Type
