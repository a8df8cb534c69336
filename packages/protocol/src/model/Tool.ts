/** Tools: descriptions, calls and results. Input and output schemas are forwarded unchanged. */
import * as Schema from "effect/Schema"
import { ContentBlock } from "./Content.ts"
import { iconFields, nameFields } from "./Icon.ts"
import { inputFields, metaFields, requestFields } from "./Meta.ts"
import { JsonObject, struct } from "./Shape.ts"

/** Hints about a tool's behavior. They are only as trustworthy as the server. */
export const ToolAnnotations = struct("ToolAnnotations", {
  title: Schema.optionalKey(Schema.String),
  readOnlyHint: Schema.optionalKey(Schema.Boolean),
  destructiveHint: Schema.optionalKey(Schema.Boolean),
  idempotentHint: Schema.optionalKey(Schema.Boolean),
  openWorldHint: Schema.optionalKey(Schema.Boolean)
})
export type ToolAnnotations = typeof ToolAnnotations.Type

/** Says whether a call may or must run as a task (2025-11-25). */
export const ToolExecution = struct("ToolExecution", {
  taskSupport: Schema.optionalKey(Schema.Literals(["forbidden", "optional", "required"]))
})
export type ToolExecution = typeof ToolExecution.Type

/** A JSON Schema whose root is an object. */
export const InputSchema = Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
export type InputSchema = typeof InputSchema.Type

/** A tool, as listed by `tools/list`. */
export const Tool = struct("Tool", {
  ...nameFields,
  ...iconFields,
  description: Schema.optionalKey(Schema.String),
  inputSchema: InputSchema,
  outputSchema: Schema.optionalKey(JsonObject),
  annotations: Schema.optionalKey(ToolAnnotations),
  execution: Schema.optionalKey(ToolExecution),
  ...metaFields
})
export type Tool = typeof Tool.Type

/** Params of `tools/call`. */
export const CallToolParams = struct("CallToolParams", {
  ...requestFields,
  ...inputFields,
  name: Schema.String,
  arguments: Schema.optionalKey(JsonObject)
})
export type CallToolParams = typeof CallToolParams.Type

/** A tool result. If `isError` is true, the tool failed and `content` tells the model why. */
export const CallToolResult = struct("CallToolResult", {
  ...metaFields,
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Schema.Unknown),
  isError: Schema.optionalKey(Schema.Boolean)
})
export type CallToolResult = typeof CallToolResult.Type
