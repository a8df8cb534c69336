/** Values that handlers may return, and their conversion to protocol results. */
import type { ContentBlock, ResourceContents, Role } from "../model/Content.ts"
import type { CallToolResult, GetPromptResult, PromptMessage, ReadResourceResult } from "../model/Results.ts"

/**
 * Return value of a tool handler without an output schema: a string, one or more content blocks, a complete result, or any other JSON
 * value. An object becomes structured content and is also sent as JSON text.
 */
export type ToolOutput =
  | string
  | ContentBlock
  | ReadonlyArray<ContentBlock>
  | CallToolResult
  | object
  | number
  | boolean
  | null
  | undefined
  | void

const blockTypes = new Set<unknown>(["text", "image", "audio", "resource", "resource_link"] satisfies ReadonlyArray<
  ContentBlock["type"]
>)

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null
const isBlock = (value: unknown): value is ContentBlock =>
  isObject(value) && "type" in value && blockTypes.has(value.type)
const areBlocks = (values: ReadonlyArray<unknown>): values is ReadonlyArray<ContentBlock> => values.every(isBlock)
const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)
const isResult = (value: object): value is CallToolResult =>
  "content" in value && isList(value.content) && areBlocks(value.content)

const text = (value: string): ReadonlyArray<ContentBlock> => [{ type: "text", text: value }]

/** Converts the return value of a tool without an output schema to a result. Throws if JSON cannot represent it. */
export const toolResult = (output: unknown): CallToolResult => {
  if (typeof output === "string") return { content: text(output) }
  if (output === undefined) return { content: [] }
  if (!isObject(output)) return { content: text(JSON.stringify(output) ?? "") }
  if (isBlock(output)) return { content: [output] }
  if (isList(output)) return { content: areBlocks(output) ? output : text(JSON.stringify(output)) }
  if (isResult(output)) return output
  const json = JSON.stringify(output)
  return { content: text(json), structuredContent: JSON.parse(json) }
}

/**
 * Return value of a `read` function: a string, bytes, contents with URIs, a complete result, or `undefined` if there is no such resource.
 */
export type ResourceOutput = string | Uint8Array | ReadonlyArray<ResourceContents> | ReadResourceResult | undefined

/** A prompt message. If `content` is a string, it becomes a text block. */
export interface PromptOutputMessage {
  readonly role: Role
  readonly content: ContentBlock | string
}

/** Return value of a prompt handler: the text of a single user message, one or more messages, or a complete result. */
export type PromptOutput = string | PromptOutputMessage | ReadonlyArray<PromptOutputMessage> | GetPromptResult

const message = ({ content, role }: PromptOutputMessage): PromptMessage => ({
  role,
  content: typeof content === "string" ? { type: "text", text: content } : content
})

/** Converts the return value of a prompt handler to messages. */
export const promptResult = (output: PromptOutput): string | ReadonlyArray<PromptMessage> | GetPromptResult => {
  if (typeof output === "string") return output
  if (isMessages(output)) return output.map(message)
  return "messages" in output ? output : [message(output)]
}
const isMessages = (output: Exclude<PromptOutput, string>): output is ReadonlyArray<PromptOutputMessage> =>
  Array.isArray(output)
