/** A scripted model that records its prompts. */
import * as Effect from "effect/Effect"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

export const text = (text: string): Response.PartEncoded => ({ type: "text", text })
export const call = (id: string, name: string, params: unknown): Response.PartEncoded => ({
  type: "tool-call",
  id,
  name,
  params
})
const tokens = { uncached: 1, total: 1, cacheRead: undefined, cacheWrite: undefined }
export const finish = (reason: Response.FinishReason): Response.PartEncoded => ({
  type: "finish",
  reason,
  usage: { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: undefined } },
  response: undefined
})

/** `replies` are returned one after the other; the last one repeats. */
export const model = (...replies: ReadonlyArray<ReadonlyArray<Response.PartEncoded> | AiError.AiError>) => {
  const asked: Array<LanguageModel.ProviderOptions> = []
  const layer = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: (options) =>
        Effect.suspend(() => {
          const reply = replies[Math.min(asked.length, replies.length - 1)] ?? []
          asked.push(options)
          return "reason" in reply ? Effect.fail(reply) : Effect.succeed([...reply])
        }),
      streamText: () => Stream.empty
    })
  )
  return { asked, layer }
}
