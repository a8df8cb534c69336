/**
 * A scripted user who gives prepared answers in order and records the questions.
 *
 * If a single answer works for every question, use `Elicitation.layerAccept(content)`, `layerDecline` or `layerCancel` from core instead.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Answer to one question: either the form's content without `action`, such as `{ name: "Ada" }`, or a refusal. */
export type UserAnswer = NonNullable<ElicitResult["content"]> | "cancel" | "decline"

/** Record of a scripted user's questions. */
export class ElicitationTest extends Context.Service<
  ElicitationTest,
  {
    /** Questions asked so far, oldest first. */
    readonly asked: Effect.Effect<ReadonlyArray<ElicitParams>>
  }
>()("@effect-mcp/testing/ElicitationTest") {}

/**
 * Answers the first question with the first answer, and so on. Once the answers run out, further questions fail with -32603. So does a
 * question whose answer is written as `{ action, content }`.
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/core"
 * import { ElicitationTest } from "@effect-mcp/testing"
 * import { Console, Effect, Schema } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const { name } = yield* Elicitation.form("Your name?", Schema.Struct({ name: Schema.String }))
 *   yield* Console.log(name) // => Ada
 *   const { asked } = yield* ElicitationTest.ElicitationTest
 *   yield* Console.log((yield* asked).map(({ message }) => message)) // => Your name?
 * })
 *
 * await Effect.runPromise(Effect.provide(test, ElicitationTest.layerScripted([{ name: "Ada" }])))
 * ```
 */
export const layerScripted = (
  answers: ReadonlyArray<UserAnswer>
): Layer.Layer<Elicitation.Elicitation | ElicitationTest> =>
  Layer.effectContext(
    Effect.sync(() => {
      const asked: Array<ElicitParams> = []
      const elicit = (params: ElicitParams): Effect.Effect<ElicitResult, McpError.McpError> =>
        Effect.suspend(() => {
          const answer = answers[asked.length]
          asked.push(params)
          if (answer === undefined) return Effect.fail(McpError.internalError("The script has no more answers"))
          if (typeof answer !== "string" && "action" in answer && isJsonObject(answer["content"])) {
            return Effect.fail(McpError.internalError("The script has { action, content }: list the contents only"))
          }
          return Effect.succeed(typeof answer === "string" ? { action: answer } : { action: "accept", content: answer })
        })
      return Context.make(Elicitation.Elicitation, { modes: { form: true, url: true }, elicit }).pipe(
        Context.add(ElicitationTest, { asked: Effect.sync(() => [...asked]) })
      )
    })
  )
