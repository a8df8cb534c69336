/**
 * Prompts of MCP servers as a `Prompt` of `effect/ai`, for any `LanguageModel`.
 *
 * The text is a stranger's: the model reads it as messages of the user and of the assistant, never as instructions of the system.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { CallOptions, McpClient } from "@effect-mcp/client/McpClient"
import type * as Contract from "@effect-mcp/core/Prompt"
import type { GetPromptResult, PromptMessage } from "@effect-mcp/protocol/model/Prompt"
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { type MessagePart, partOf } from "../content/parts.ts"

const messageOf = (role: PromptMessage["role"], content: ReadonlyArray<MessagePart>): Prompt.Message =>
  role === "user" ? Prompt.userMessage({ content }) : Prompt.assistantMessage({ content })

/** The messages in order; those of one role that follow each other are one message, since providers want the roles to alternate. */
export const fromResult = ({ messages }: GetPromptResult): Prompt.Prompt => {
  const turns: Array<{ readonly role: PromptMessage["role"]; readonly parts: Array<MessagePart> }> = []
  for (const { content, role } of messages) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(partOf(content))
    else turns.push({ role, parts: [partOf(content)] })
  }
  return Prompt.fromMessages(turns.map(({ parts, role }) => messageOf(role, parts)))
}

/**
 * Gets a prompt by its contract.
 *
 * @example
 * ```ts
 * import { RemotePrompt } from "@effect-mcp/ai"
 * import { McpClient } from "@effect-mcp/client"
 * import { Prompt } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 * import { LanguageModel } from "effect/ai"
 *
 * const Review = Prompt.make("review", { arguments: { file: Schema.String } })
 *
 * export const review = (file: string) =>
 *   Effect.gen(function* () {
 *     const prompt = yield* RemotePrompt.get(yield* McpClient.McpClient, Review, { file })
 *     return (yield* LanguageModel.generateText({ prompt })).text
 *   })
 * ```
 */
export const get = <A>(
  client: Pick<McpClient["Service"], "getPrompt">,
  prompt: Contract.Prompt<A>,
  args: NoInfer<A>,
  options?: CallOptions
): Effect.Effect<Prompt.Prompt, ClientError> => Effect.map(client.getPrompt(prompt, args, options), fromResult)

/** Gets a prompt by its name. Takes a client, or the clients of several servers (`McpClients`). */
export const getByName = <E>(
  client: {
    readonly getPromptByName: (
      name: string,
      args?: { readonly [argument: string]: string },
      options?: CallOptions
    ) => Effect.Effect<GetPromptResult, E>
  },
  name: string,
  args?: { readonly [argument: string]: string },
  options?: CallOptions
): Effect.Effect<Prompt.Prompt, E> => Effect.map(client.getPromptByName(name, args, options), fromResult)
