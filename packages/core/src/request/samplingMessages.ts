/** Rules for tool_use and tool_result messages (spec: client/sampling). Both peers enforce them (-32602). */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { SamplingMessage } from "@effect-mcp/protocol/model/Sampling"
import * as Effect from "effect/Effect"

const blocks = (message: SamplingMessage) => (Array.isArray(message.content) ? message.content : [message.content])

/**
 * Fails with -32602 if a tool use has no result (spec 2025-11-25: client/sampling, message content constraints). The message after an
 * assistant's tool uses must come from the user, contain only tool results, and have a result for every tool use.
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
      if (message.role !== "user") return "Tool results belong in user messages"
      if (results.length < content.length) return "Tool results must not be mixed with other content"
      for (const result of results) {
        if (!open.delete(result.toolUseId))
          return `Tool result for "${result.toolUseId}" does not answer a tool use in the previous message`
      }
    }
    const [missing] = open
    if (missing !== undefined) return `Tool result missing in request: "${missing}" is not answered in the next message`
    const uses = content.filter((block) => block.type === "tool_use")
    if (uses.length > 0 && message.role !== "assistant") return "Tool uses belong in assistant messages"
    open = new Set(uses.map((use) => use.id))
    if (open.size < uses.length) return "Tool use ids must be unique within a message"
  }
  const [missing] = open
  return missing === undefined ? undefined : `Tool result missing in request: "${missing}" is not answered`
}
