/** A scripted model that returns prepared answers in order and records the prompts. */
import { Sampling } from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Answer to one prompt: text, a complete result, or a failure. */
export type ModelAnswer = string | CreateMessageResult | McpError.McpError

const messageOf = (answer: string | CreateMessageResult): CreateMessageResult =>
  typeof answer === "string"
    ? { role: "assistant", content: { type: "text", text: answer }, model: "scripted", stopReason: "endTurn" }
    : answer

/** Record of a scripted model's prompts. */
export class SamplingTest extends Context.Service<
  SamplingTest,
  {
    /** Prompts received so far, oldest first. */
    readonly prompts: Effect.Effect<ReadonlyArray<CreateMessageParams>>
  }
>()("@effect-mcp/testing/SamplingTest") {}

/**
 * Answers the first prompt with the first answer, and so on. Once the answers run out, further prompts fail with -32603. The model supports
 * tools.
 *
 * @example
 * ```ts
 * import { Sampling } from "@effect-mcp/core"
 * import { SamplingTest } from "@effect-mcp/testing"
 * import { Console, Effect } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const { model } = yield* Sampling.createMessage({
 *     messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
 *     maxTokens: 10
 *   })
 *   yield* Console.log(model) // => scripted
 * })
 *
 * await Effect.runPromise(Effect.provide(test, SamplingTest.layerScripted(["Hello, user"])))
 * ```
 */
export const layerScripted = (answers: ReadonlyArray<ModelAnswer>): Layer.Layer<Sampling | SamplingTest> =>
  Layer.effectContext(
    Effect.sync(() => {
      const prompts: Array<CreateMessageParams> = []
      const createMessage = (params: CreateMessageParams): Effect.Effect<CreateMessageResult, McpError.McpError> =>
        Effect.suspend(() => {
          const answer = answers[prompts.length]
          prompts.push(params)
          if (answer === undefined) return Effect.fail(McpError.internalError("The script has no more answers"))
          return answer instanceof McpError.McpError ? Effect.fail(answer) : Effect.succeed(messageOf(answer))
        })
      return Context.make(Sampling, { capabilities: { tools: true, context: true }, createMessage }).pipe(
        Context.add(SamplingTest, { prompts: Effect.sync(() => [...prompts]) })
      )
    })
  )
