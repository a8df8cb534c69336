/** Converts the messages of a sampling request to an `effect/ai` prompt. */
import { isBlocks, type ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { CreateMessageParams, SamplingContent, SamplingMessage } from "@effect-mcp/protocol/model/Sampling"
import * as Prompt from "effect/ai/Prompt"

const blocksOf = ({ content }: SamplingMessage): ReadonlyArray<SamplingContent> =>
  isBlocks(content) ? content : [content]

type Media = Extract<SamplingContent, { readonly type: "text" | "image" | "audio" }>

const mediaOf = (block: Media): Prompt.TextPart | Prompt.FilePart =>
  block.type === "text"
    ? Prompt.textPart({ text: block.text })
    : Prompt.filePart({ mediaType: block.mimeType, data: block.data })

const isMedia = (block: SamplingContent): block is Media =>
  block.type === "text" || block.type === "image" || block.type === "audio"

const textOf = (block: ContentBlock): string => {
  if (block.type === "text") return block.text
  if (block.type === "resource") return "text" in block.resource ? block.resource.text : `[${block.resource.uri}]`
  return block.type === "resource_link" ? `${block.name}: ${block.uri}` : `[${block.mimeType}]`
}

/** Returns the tool results in a user message, with the names of their calls. */
const resultsOf = (
  blocks: ReadonlyArray<SamplingContent>,
  names: ReadonlyMap<string, string>
): ReadonlyArray<Prompt.ToolResultPart> =>
  blocks.flatMap((block) => {
    if (block.type !== "tool_result") return []
    const { content, isError = false, structuredContent, toolUseId } = block
    return [
      Prompt.toolResultPart({
        id: toolUseId,
        name: names.get(toolUseId) ?? toolUseId,
        isFailure: isError,
        result: structuredContent ?? content.map(textOf).join("\n"),
        providerExecuted: false
      })
    ]
  })

const assistantPart = (
  block: SamplingContent,
  names: Map<string, string>
): ReadonlyArray<Prompt.AssistantMessagePart> => {
  if (block.type === "tool_use") {
    names.set(block.id, block.name)
    return [Prompt.toolCallPart({ id: block.id, name: block.name, params: block.input, providerExecuted: false })]
  }
  return isMedia(block) ? [mediaOf(block)] : []
}

/** Returns the system prompt followed by the messages in order. */
export const promptOf = ({ messages, systemPrompt }: CreateMessageParams): Prompt.Prompt => {
  /** Name of each call, by its id. */
  const names = new Map<string, string>()
  const made: Array<Prompt.Message> = []
  if (systemPrompt !== undefined) made.push(Prompt.systemMessage({ content: systemPrompt }))
  for (const message of messages) {
    const blocks = blocksOf(message)
    if (message.role === "assistant") {
      made.push(Prompt.assistantMessage({ content: blocks.flatMap((block) => assistantPart(block, names)) }))
      continue
    }
    const results = resultsOf(blocks, names)
    if (results.length > 0) made.push(Prompt.toolMessage({ content: results }))
    const media = blocks.filter(isMedia)
    if (media.length > 0) made.push(Prompt.userMessage({ content: media.map(mediaOf) }))
  }
  return Prompt.fromMessages(made)
}
