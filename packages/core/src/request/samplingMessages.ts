/** The rules about tool_use and tool_result messages (spec: client/sampling), which both sides check (-32602). */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { SamplingMessage } from "@effect-mcp/protocol/model/Sampling"
import * as Effect from "effect/Effect"

const blocks = (message: SamplingMessage) => (Array.isArray(message.content) ? message.content : [message.content])

/**
 * Fails with -32602 for tool uses without results (spec 2025-11-25: client/sampling, message content constraints). The message after an
 * assistant's tool uses must be the user's, consist of tool results only, and answer each of them.
 */
export const check = (messages: ReadonlyArray<SamplingMessage>): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    const reason = violation(messages)
    return reason === undefined ? Effect.void : Effect.fail(McpError.invalidParams(reason))
  })

const violation = (messages: ReadonlyArray<SamplingMessage>): string | undefined => {
  let open = new Set<string>()
  for (const message of messages) {
    const content = blocks(message)
    const results = content.filter((block) => block.type === "tool_result")
    if (results.length > 0) {
      if (message.role !== "user") return "Tool results belong into user messages"
      if (results.length < content.length) return "Tool results must not be mixed with other content"
      for (const result of results) {
        if (!open.delete(result.toolUseId))
          return `Tool result for "${result.toolUseId}" answers no tool use of the message before`
      }
    }
    const [missing] = open
    if (missing !== undefined) return `Tool result missing in request: "${missing}" is not answered in the next message`
    const uses = content.filter((block) => block.type === "tool_use")
    if (uses.length > 0 && message.role !== "assistant") return "Tool uses belong into assistant messages"
    open = new Set(uses.map((use) => use.id))
    if (open.size < uses.length) return "Tool use ids must be unique within a message"
  }
  const [missing] = open
  return missing === undefined ? undefined : `Tool result missing in request: "${missing}" is not answered`
}
