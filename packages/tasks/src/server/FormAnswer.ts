/** Checks the answer to a form that a model gives for its user, so that it can correct itself. */
import { ToolFailure } from "@effect-mcp/core/Tools"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Answer, Question } from "../model/Task.ts"

/** Imported with the first answer, because most servers never have one. */
const interpreter = Effect.promise(() => import("@effect-mcp/protocol/JsonSchemaValidator"))

/** Returns the answer of an accepted form. Fails if the content doesn't match the form. */
export const accepted = ({ params }: Question, content: JsonObject): Effect.Effect<Answer, ToolFailure> =>
  Effect.flatMap(interpreter, ({ compile }): Effect.Effect<Answer, ToolFailure> => {
    const schema = params["requestedSchema"]
    const compiled = compile(schema, { formats: true })
    // The handler checks the answer again, so a schema that can't be compiled is no reason to reject it.
    const [violation] = Result.isSuccess(compiled) ? compiled.success(content) : []
    if (violation === undefined) return Effect.succeed({ _tag: "Result", result: { action: "accept", content } })
    const { message, path } = violation
    return Effect.fail(
      new ToolFailure({
        message: `The content does not match the question's schema: ${path} ${message}. The schema is ${JSON.stringify(schema)}`
      })
    )
  })
