/**
 * A scripted model without a provider. It calls the first tool for Rome and
 * repeats the result.
 */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"

const reply = ({
  prompt,
  tools
}: LanguageModel.ProviderOptions): ReadonlyArray<Response.PartEncoded> => {
  const last = prompt.content.at(-1)
  if (last?.role !== "tool") {
    return [
      {
        type: "tool-call",
        id: "1",
        name: tools[0]?.name ?? "",
        params: { city: "Rome" }
      }
    ]
  }
  const said = last.content.map((part) =>
    part.type === "tool-result"
      ? Prompt.toolModelOutputToText(part.modelOutput ?? [])
      : ""
  )
  return [{ type: "text", text: `The tool says: ${said.join()}` }]
}

export const ModelDouble = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: (options) => Effect.sync(() => [...reply(options)]),
    streamText: () => Stream.empty
  })
)
