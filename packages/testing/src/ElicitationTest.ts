/**
 * A user by script: answers in order, and a record of what was asked.
 *
 * For a user who always does the same, core has `Elicitation.layerAccept(content)`, `layerDecline` and `layerCancel`.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** What the user does with one question: fill in the form, or not. */
export type Answer = NonNullable<ElicitResult["content"]> | "cancel" | "decline"

export class ElicitationTest extends Context.Service<
  ElicitationTest,
  {
    /** The questions so far, oldest first. */
    readonly asked: Effect.Effect<ReadonlyArray<ElicitParams>>
  }
>()("@effect-mcp/testing/ElicitationTest") {}

/** Answers the first question with the first answer, and so on; a question beyond the script fails with -32603. */
export const layerScripted = (answers: ReadonlyArray<Answer>): Layer.Layer<Elicitation.Elicitation | ElicitationTest> =>
  Layer.effectContext(
    Effect.sync(() => {
      const asked: Array<ElicitParams> = []
      const elicit = (params: ElicitParams): Effect.Effect<ElicitResult, McpError.McpError> =>
        Effect.suspend(() => {
          const answer = answers[asked.length]
          asked.push(params)
          if (answer === undefined) return Effect.fail(McpError.internalError("The script has no more answers"))
          return Effect.succeed(typeof answer === "string" ? { action: answer } : { action: "accept", content: answer })
        })
      return Context.make(Elicitation.Elicitation, { modes: { form: true, url: true }, elicit }).pipe(
        Context.add(ElicitationTest, { asked: Effect.sync(() => [...asked]) })
      )
    })
  )
