/**
 * A scripted user: answers in order, and a record of the questions.
 *
 * For a user with one answer to all questions, core has `Elicitation.layerAccept(content)`, `layerDecline` and `layerCancel`.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The answer to one question: the content of the form alone, such as `{ name: "Ada" }`, without `action`; or a refusal. */
export type UserAnswer = NonNullable<ElicitResult["content"]> | "cancel" | "decline"

/** The record of a scripted user. */
export class ElicitationTest extends Context.Service<
  ElicitationTest,
  {
    /** The questions so far, oldest first. */
    readonly asked: Effect.Effect<ReadonlyArray<ElicitParams>>
  }
>()("@effect-mcp/testing/ElicitationTest") {}

/**
 * Answers the first question with the first answer, and so on. A question beyond the script fails with -32603, as
 * does one whose answer is `{ action, content }`.
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
