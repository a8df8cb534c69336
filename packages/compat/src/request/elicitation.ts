/** Checks the answers to forms (spec: client/elicitation), because a client may send anything. */
import { compile } from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult } from "../model/types.ts"

/**
 * Returns the answer if its content fits the form. Otherwise rejects with `InvalidParams`. Rejects with `InternalError` if the form's
 * schema cannot be checked.
 */
export const checkedAnswer = async (
  params: ElicitRequestFormParams | ElicitRequestURLParams,
  answer: ElicitResult
): Promise<ElicitResult> => {
  if (params.mode === "url" || answer.action !== "accept") return answer
  const validator = compile(params.requestedSchema, { formats: true })
  if (Result.isFailure(validator)) {
    const { message } = validator.failure
    throw new ProtocolError(ProtocolErrorCode.InternalError, `Unsupported requestedSchema: ${message}`)
  }
  const [first] = validator.success(answer.content ?? {})
  if (first === undefined) return answer
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `The user's response does not match requestedSchema at ${JSON.stringify(first.path)}: ${first.message}`
  )
}
