/**
 * What handlers may return, and the results that are made of it (spec: server/tools, server/prompts, server/resources).
 */
import type { ContentBlock, ResourceContents, Role } from "../model/Content.ts"
import type { CallToolResult, GetPromptResult, PromptMessage, ReadResourceResult } from "../model/Results.ts"

/**
 * What a handler of a tool without an output schema returns: a text, a content block or several, a whole result, or any other JSON value.
 * An object becomes structured content, with its JSON as text beside it.
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

/** The result of a handler of a tool without an output schema. Throws for a value that JSON cannot carry. */
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

/** What a `read` returns: a text, bytes, contents with URIs of their own, or the whole result; `undefined` where there is no such resource. */
export type ResourceOutput = string | Uint8Array | ReadonlyArray<ResourceContents> | ReadResourceResult | undefined

/** A message whose content may be a text. */
export interface PromptOutputMessage {
  readonly role: Role
  readonly content: ContentBlock | string
}

/** What a handler of a prompt returns: the text of one user message, one message, several, or the whole result. */
export type PromptOutput = string | PromptOutputMessage | ReadonlyArray<PromptOutputMessage> | GetPromptResult

const message = ({ content, role }: PromptOutputMessage): PromptMessage => ({
  role,
  content: typeof content === "string" ? { type: "text", text: content } : content
})

/** The messages of a prompt. */
export const promptResult = (output: PromptOutput): string | ReadonlyArray<PromptMessage> | GetPromptResult => {
  if (typeof output === "string") return output
  if (isMessages(output)) return output.map(message)
  return "messages" in output ? output : [message(output)]
}
const isMessages = (output: Exclude<PromptOutput, string>): output is ReadonlyArray<PromptOutputMessage> =>
  Array.isArray(output)
