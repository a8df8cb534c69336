/** A model by script: answers in order, and a record of what it was prompted with. */
import { Sampling } from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** One message of the model: a text, a whole result, or a failure. */
export type Answer = string | CreateMessageResult | McpError.McpError

const messageOf = (answer: string | CreateMessageResult): CreateMessageResult =>
  typeof answer === "string"
    ? { role: "assistant", content: { type: "text", text: answer }, model: "scripted", stopReason: "endTurn" }
    : answer

export class SamplingTest extends Context.Service<
  SamplingTest,
  {
    /** The prompts so far, oldest first. */
    readonly prompts: Effect.Effect<ReadonlyArray<CreateMessageParams>>
  }
>()("@effect-mcp/testing/SamplingTest") {}

/** Answers the first prompt with the first answer, and so on; a prompt beyond the script fails with -32603. Can use tools. */
export const layerScripted = (answers: ReadonlyArray<Answer>): Layer.Layer<Sampling | SamplingTest> =>
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
