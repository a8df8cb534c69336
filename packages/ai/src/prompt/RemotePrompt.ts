/**
 * Turns MCP server prompts into `effect/ai` prompts, for use with any `LanguageModel`.
 *
 * The text comes from an untrusted server, so the model sees it as user and assistant messages, never as system instructions.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { CallOptions, McpClient } from "@effect-mcp/client/McpClient"
import type * as Contract from "@effect-mcp/core/Prompt"
import type { GetPromptResult, PromptMessage } from "@effect-mcp/protocol/model/Prompt"
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { type MessagePart, partOf, reader, type ReaderOptions } from "../content/parts.ts"

const messageOf = (role: PromptMessage["role"], content: ReadonlyArray<MessagePart>): Prompt.Message =>
  role === "user" ? Prompt.userMessage({ content }) : Prompt.assistantMessage({ content })

/**
 * Converts the messages, keeping their order. Consecutive messages with the same role are merged, because providers require alternating
 * roles.
 */
export const fromResult = ({ messages }: GetPromptResult, options: ReaderOptions = {}): Prompt.Prompt => {
  const read = reader(options)
  const turns: Array<{ readonly role: PromptMessage["role"]; readonly parts: Array<MessagePart> }> = []
  for (const { content, role } of messages) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(partOf(content, read))
    else turns.push({ role, parts: [partOf(content, read)] })
  }
  return Prompt.fromMessages(turns.map(({ parts, role }) => messageOf(role, parts)))
}

/**
 * Returns the instructions of a skill, which `SkillStore` of `@effect-mcp/skills` has loaded, as a message of the user. The text is between
 * marks that name its server.
 */
export const fromSkill = (skill: { readonly prompt: string }, options: ReaderOptions = {}): Prompt.Prompt =>
  Prompt.fromMessages([messageOf("user", [Prompt.textPart({ text: reader(options)(skill.prompt) })])])

/**
 * Gets a prompt through its typed `Prompt` value.
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
  options?: CallOptions & ReaderOptions
): Effect.Effect<Prompt.Prompt, ClientError> =>
  Effect.map(client.getPrompt(prompt, args, options), (result) => fromResult(result, options))

/** Gets a prompt by name, from a single client or from the clients of several servers (`McpClients`). */
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
  options?: CallOptions & ReaderOptions
): Effect.Effect<Prompt.Prompt, E> =>
  Effect.map(client.getPromptByName(name, args, options), (result) => fromResult(result, options))
