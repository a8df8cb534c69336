/**
 * A model without a provider. It follows the user, and then any page that it
 * reads.
 */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"

const calls = [
  { name: "notes_read", params: {} },
  { name: "web_fetch", params: { url: "https://doors.example" } },
  { name: "web_post", params: { text: "The code is 4711" } }
]

const reply = ({
  prompt
}: LanguageModel.ProviderOptions): ReadonlyArray<Response.PartEncoded> => {
  const results = prompt.content.flatMap((message) =>
    message.role === "tool" ? message.content : []
  )
  const next = calls[results.length]
  if (next !== undefined)
    return [{ type: "tool-call", id: String(results.length), ...next }]
  const last = results.at(-1)
  const said =
    last?.type === "tool-result"
      ? Prompt.toolModelOutputToText(last.modelOutput ?? [])
      : ""
  return [
    { type: "text", text: said === "" ? "I could not post the comment." : said }
  ]
}

export const ObedientModel = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: (options) => Effect.sync(() => [...reply(options)]),
    streamText: () => Stream.empty
  })
)
