/**
 * Serves an `effect/ai` prompt as an MCP prompt.
 *
 * MCP has only user and assistant messages, each with a single content block. System messages therefore become user messages in the same
 * position, and the model's reasoning is dropped. Tool calls and tool results can't be expressed, so they are defects.
 */
import * as Prompts from "@effect-mcp/core/Prompts"
import type { PromptMessage } from "@effect-mcp/protocol/model/Prompt"
import type * as Prompt from "effect/ai/Prompt"
import { blockOf } from "../content/parts.ts"

type AnyPart = Exclude<Prompt.Message["content"], string>[number]

const messagesOf = (message: Prompt.Message): ReadonlyArray<PromptMessage> => {
  if (message.role === "system") return [Prompts.user(message.content)]
  const parts: ReadonlyArray<AnyPart> = message.content
  return parts.flatMap((part) => {
    if (part.type === "text" || part.type === "file") {
      return [message.role === "assistant" ? Prompts.assistant(blockOf(part)) : Prompts.user(blockOf(part))]
    }
    if (part.type === "reasoning") return []
    throw new Error(`MCP prompts do not support ${part.type} parts. Remove them from the prompt`)
  })
}

/**
 * Converts a `Prompt` to MCP messages, for use in a `Prompts.layer` handler. Throws if it contains tool calls or tool results.
 *
 * @example
 * ```ts
 * import { ServedPrompt } from "@effect-mcp/ai"
 * import { Prompt as McpPrompt, Prompts } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Schema } from "effect"
 * import { Prompt } from "effect/ai"
 *
 * const Review = McpPrompt.make("review", { arguments: { file: Schema.String } })
 * const review = Prompts.layer(Review, ({ file }) =>
 *   Effect.succeed(ServedPrompt.messages(Prompt.make(`Review ${file}`)))
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(review, "2025-11-25")
 *   const { messages } = yield* client.getPrompt(Review, { file: "main.ts" })
 *   yield* Console.log(messages.length, messages[0]?.role) // => 1 user
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const messages = (prompt: Prompt.Prompt): ReadonlyArray<PromptMessage> => prompt.content.flatMap(messagesOf)
