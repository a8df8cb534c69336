/** A scripted model: each turn makes the next calls, or says "done" when there are none left. */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel } from "effect/ai"

/** A call of a tool by its merged name, with the ID of the call. */
export type ScriptedCall = readonly [id: string, name: string, params: { readonly [name: string]: unknown }]

/** `turns` holds the calls of each turn. */
export const scripted = (...turns: ReadonlyArray<ReadonlyArray<ScriptedCall>>) => {
  let turn = 0
  return Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () =>
        Effect.sync(() => {
          const calls = turns[turn++] ?? []
          return calls.length === 0
            ? [{ type: "text" as const, text: "done" }]
            : calls.map(([id, name, params]) => ({ type: "tool-call" as const, id, name, params }))
        }),
      streamText: () => Stream.empty
    })
  )
}
