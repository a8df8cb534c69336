/**
 * Defines how values are encoded for revisions that don't support them.
 *
 * Each row names a model type, the first revision with the feature, and the replacement for older revisions. Decoding
 * needs no table, because every revision accepts the whole model. Each revision's file defines its methods and rules.
 */
import { excerpt } from "../Excerpt.ts"
import * as Capabilities from "../model/Capabilities.ts"
import * as Annotations from "../model/Annotations.ts"
import * as Completion from "../model/Completion.ts"
import * as Content from "../model/Content.ts"
import * as Elicitation from "../model/Elicitation.ts"
import { Implementation } from "../model/Implementation.ts"
import * as MethodInfo from "../model/MethodInfo.ts"
import * as Progress from "../model/Progress.ts"
import * as Prompt from "../model/Prompt.ts"
import * as Resource from "../model/Resource.ts"
import * as Root from "../model/Root.ts"
import * as Sampling from "../model/Sampling.ts"
import { isJsonObject, type JsonObject } from "../model/Shape.ts"
import * as Tool from "../model/Tool.ts"
import { dropFrom, type RewriteRow, rowsOf } from "./Rewrite.ts"

const bytes = (base64: string): number => Math.floor((base64.replace(/=+$/, "").length * 3) / 4)

const asText = (text: string, from: { readonly annotations?: Annotations.Annotations }): Content.TextContent =>
  from.annotations === undefined ? { type: "text", text } : { type: "text", text, annotations: from.annotations }

const client = rowsOf(Capabilities.ClientCapabilities)
const server = rowsOf(Capabilities.ServerCapabilities)
const implementation = rowsOf(Implementation)

const lifecycle: ReadonlyArray<RewriteRow> = [
  ...client.drop("2025-06-18", "elicitation"),
  ...client.drop("2025-11-25", "tasks"),
  // `{}` means forms, so a client that only supports URLs must not declare it to an older server.
  client.change("2025-11-25", "rewrite", "elicitation", (value) => {
    const { elicitation, ...rest } = value
    if (elicitation?.form === undefined && elicitation?.url === undefined) return value
    const { form, url: _url, ...unknown } = elicitation
    return form === undefined ? rest : { ...rest, elicitation: unknown }
  }),
  client.change("2025-11-25", "rewrite", "sampling", (value) => {
    if (value.sampling?.context === undefined && value.sampling?.tools === undefined) return value
    const { context: _context, tools: _tools, ...unknown } = value.sampling
    return { ...value, sampling: unknown }
  }),
  ...server.drop("2025-03-26", "completions"),
  // A revision without any of the capability's lists has no notification for their changes either.
  ...MethodInfo.listKinds.flatMap((kind) => {
    const { since } = MethodInfo.serverNotifications[`notifications/${kind}/list_changed`]
    return since === undefined ? [] : server.drop(since, kind)
  }),
  ...server.drop("2025-11-25", "tasks"),
  ...implementation.drop("2025-06-18", "title"),
  ...implementation.drop("2025-11-25", "icons", "description", "websiteUrl"),
  ...rowsOf(Progress.ProgressParams).drop("2025-03-26", "message"),
  rowsOf(Progress.CancelledParams).change("2025-11-25", "error", "requestId", (value, refuse) => {
    if (value.requestId === undefined) refuse("a cancellation without a request id")
    return value
  })
]

const audio = rowsOf(Content.AudioContent)
const link = rowsOf(Content.ResourceLink)

const content: ReadonlyArray<RewriteRow> = [
  audio.change("2025-03-26", "text", undefined, (value) =>
    asText(`[audio: ${value.mimeType}, ${bytes(value.data)} bytes]`, value)
  ),
  link.change("2025-06-18", "text", undefined, (value) =>
    asText(`[resource: ${value.title ?? value.name}, ${value.uri}]`, value)
  ),
  ...link.drop("2025-11-25", "icons"),
  ...audio.drop("2025-06-18", "_meta"),
  ...rowsOf(Content.TextContent).drop("2025-06-18", "_meta"),
  ...rowsOf(Content.ImageContent).drop("2025-06-18", "_meta"),
  ...rowsOf(Content.EmbeddedResource).drop("2025-06-18", "_meta"),
  ...rowsOf(Content.TextResourceContents).drop("2025-06-18", "_meta"),
  ...rowsOf(Content.BlobResourceContents).drop("2025-06-18", "_meta"),
  ...rowsOf(Annotations.Annotations).drop("2025-06-18", "lastModified")
]

const resource = rowsOf(Resource.Resource)
const template = rowsOf(Resource.ResourceTemplate)
const prompt = rowsOf(Prompt.Prompt)

/** Caching hints and answers from 2026-07-28, in methods that older revisions have too. */
const rounds: ReadonlyArray<RewriteRow> = Object.values(MethodInfo.clientRequests).flatMap(
  ({ cacheable, mayAsk, params, result, since }: MethodInfo.ClientRequestInfo) => [
    ...(cacheable === true && since === undefined ? dropFrom(result, "2026-07-28", "ttlMs", "cacheScope") : []),
    ...(mayAsk === true ? dropFrom(params, "2026-07-28", "inputResponses", "requestState") : [])
  ]
)

const lists: ReadonlyArray<RewriteRow> = [
  ...resource.drop("2025-06-18", "title", "_meta"),
  ...resource.drop("2025-11-25", "icons"),
  ...template.drop("2025-06-18", "title", "_meta"),
  ...template.drop("2025-11-25", "icons"),
  ...prompt.drop("2025-06-18", "title", "_meta"),
  ...prompt.drop("2025-11-25", "icons"),
  ...rowsOf(Prompt.PromptArgument).drop("2025-06-18", "title"),
  ...rowsOf(Completion.PromptReference).drop("2025-06-18", "title"),
  ...rowsOf(Completion.CompleteParams).drop("2025-06-18", "context"),
  ...rowsOf(Root.Root).drop("2025-06-18", "_meta")
]

/** Drops structured content. If a result has no other content, the value becomes text. */
const asTextContent = (value: { readonly content: ReadonlyArray<unknown>; readonly structuredContent?: unknown }) => {
  const { structuredContent, ...rest } = value
  if (structuredContent === undefined) return rest
  const mirror = { type: "text", text: JSON.stringify(structuredContent) }
  return rest.content.length > 0 ? rest : { ...rest, content: [mirror] }
}

/** `true` and `false` are valid schemas too, but only allowed in `properties` since 2026-07-28. */
const objectProperties = <S extends JsonObject>(schema: S): S => {
  const { properties } = schema
  if (!isJsonObject(properties) || !Object.values(properties).some((property) => typeof property === "boolean")) {
    return schema
  }
  const objects = Object.entries(properties).map(([name, property]) => [
    name,
    property === true ? {} : property === false ? { not: {} } : property
  ])
  return { ...schema, properties: Object.fromEntries(objects) }
}

const tool = rowsOf(Tool.Tool)
const result = rowsOf(Tool.CallToolResult)

const tools: ReadonlyArray<RewriteRow> = [
  ...tool.drop("2025-03-26", "annotations"),
  ...tool.drop("2025-06-18", "title", "outputSchema", "_meta"),
  ...tool.drop("2025-11-25", "icons", "execution"),
  tool.change("2026-07-28", "drop", "outputSchema", (value) => {
    if (value.outputSchema === undefined || value.outputSchema["type"] === "object") return value
    const { outputSchema: _dropped, ...rest } = value
    return rest
  }),
  tool.change("2026-07-28", "rewrite", "outputSchema", (value) => {
    if (value.outputSchema === undefined) return value
    const outputSchema = objectProperties(value.outputSchema)
    return outputSchema === value.outputSchema ? value : { ...value, outputSchema }
  }),
  tool.change("2026-07-28", "rewrite", "inputSchema", (value) => {
    const inputSchema = objectProperties(value.inputSchema)
    return inputSchema === value.inputSchema ? value : { ...value, inputSchema }
  }),
  result.change("2025-06-18", "text", "structuredContent", (value) =>
    "structuredContent" in value ? asTextContent(value) : value
  ),
  result.change("2026-07-28", "text", "structuredContent", (value) =>
    !("structuredContent" in value) || isJsonObject(value.structuredContent) ? value : asTextContent(value)
  )
]

const ask = rowsOf(Sampling.CreateMessageParams)
const message = rowsOf(Sampling.SamplingMessage)
const answer = rowsOf(Sampling.CreateMessageResult)
const toolResult = rowsOf(Content.ToolResultContent)

const sampling: ReadonlyArray<RewriteRow> = [
  ask.change("2025-11-25", "error", "tools", (value, refuse) => {
    if (value.tools !== undefined) refuse("sampling with tools")
    return value
  }),
  ask.change("2025-11-25", "error", "toolChoice", (value, refuse) => {
    if (value.toolChoice !== undefined) refuse("sampling with a tool choice")
    return value
  }),
  ask.change("2025-11-25", "rewrite", "messages", (value) => {
    if (!value.messages.some((one) => Content.isBlocks(one.content))) return value
    const messages = value.messages.flatMap((one) =>
      Content.isBlocks(one.content) ? one.content.map((block) => ({ ...one, content: block })) : [one]
    )
    return { ...value, messages }
  }),
  ...message.drop("2025-11-25", "_meta"),
  answer.change("2025-11-25", "text", "content", (value, refuse) => {
    const { content } = value
    if (!Content.isBlocks(content)) return value
    const [only] = content
    if (only !== undefined && content.length === 1) return { ...value, content: only }
    const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []))
    if (texts.length < content.length) refuse("a sampling message with several content blocks, unless all are text")
    return { ...value, content: { type: "text", text: texts.join("\n") } }
  }),
  rowsOf(Content.ToolUseContent).change("2025-11-25", "error", undefined, (value, refuse) => {
    refuse(`a call to tool "${excerpt(value.name)}" in a sampling message`)
    return value
  }),
  toolResult.change("2025-11-25", "error", undefined, (value, refuse) => {
    refuse("a tool result in a sampling message")
    return value
  }),
  toolResult.change("2026-07-28", "text", "structuredContent", (value) =>
    !("structuredContent" in value) || isJsonObject(value.structuredContent) ? value : asTextContent(value)
  )
]

const page = rowsOf(Elicitation.ElicitUrlParams)

const elicitation: ReadonlyArray<RewriteRow> = [
  ...rowsOf(Elicitation.ElicitFormParams).drop("2025-11-25", "mode"),
  ...rowsOf(Elicitation.RequestedSchema).drop("2025-11-25", "$schema"),
  ...rowsOf(Elicitation.StringSchema).drop("2025-11-25", "default"),
  ...rowsOf(Elicitation.NumberSchema).drop("2025-11-25", "default"),
  ...rowsOf(Elicitation.EnumSchema).drop("2025-11-25", "default"),
  rowsOf(Elicitation.TitledEnumSchema).change("2025-11-25", "rewrite", undefined, (value) => {
    const { oneOf, default: _default, ...rest } = value
    return { ...rest, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map((choice) => choice.title) }
  }),
  ...[rowsOf(Elicitation.MultiEnumSchema), rowsOf(Elicitation.TitledMultiEnumSchema)].map((several) =>
    several.change("2025-11-25", "error", undefined, (value, refuse) => {
      const field = value.title === undefined ? "a field" : `the field "${excerpt(value.title)}"`
      refuse(`a form in which ${field} takes several choices. Ask for a single choice, or for true or false per choice`)
      return value
    })
  ),
  page.change("2025-11-25", "error", undefined, (value, refuse) => {
    refuse("elicitation by URL")
    return value
  }),
  page.change("2026-07-28", "error", "elicitationId", (value, refuse) => {
    if (value.elicitationId === undefined) refuse("elicitation by URL without an elicitationId")
    return value
  }),
  rowsOf(Elicitation.ElicitResult).change("2025-11-25", "error", "content", (value, refuse) => {
    const several = Object.entries(value.content ?? {}).find(([, answer]) => typeof answer === "object")
    if (several !== undefined) refuse(`several answers to "${excerpt(several[0])}"`)
    return value
  })
]

/** All rows. Rows for the same type are applied in this order. */
export const table: ReadonlyArray<RewriteRow> = [
  ...lifecycle,
  ...content,
  ...rounds,
  ...lists,
  ...tools,
  ...sampling,
  ...elicitation
]
