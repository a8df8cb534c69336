/**
 * A `Prompt` of `effect/ai` as a prompt of a server.
 *
 * MCP has messages of the user and of the assistant, each with one content. A system message is one of the user, in its place; what a model
 * reasoned is left out; calls of tools and their results have no form and are a defect.
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
    throw new Error(`A prompt of MCP has no ${part.type} parts: serve the prompt without them`)
  })
}

/**
 * The messages of a `Prompt`, as a handler of `Prompts.layer` gives them. Throws for calls of tools and their results.
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
