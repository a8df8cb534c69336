/** Checks the answers to forms (spec: client/elicitation): a client may send anything. */
import { compile } from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult } from "../model/types.ts"

/**
 * Returns the answer if its content fits the form. Rejects an accepted answer that does not with `InvalidParams`, and a form whose schema
 * cannot be checked with `InternalError`.
 */
export const checkedAnswer = async (
  params: ElicitRequestFormParams | ElicitRequestURLParams,
  answer: ElicitResult
): Promise<ElicitResult> => {
  if (params.mode === "url" || answer.action !== "accept") return answer
  const validator = compile(params.requestedSchema, { formats: true })
  if (Result.isFailure(validator)) {
    const { message } = validator.failure
    throw new ProtocolError(ProtocolErrorCode.InternalError, `The requestedSchema cannot be checked: ${message}`)
  }
  const [first] = validator.success(answer.content ?? {})
  if (first === undefined) return answer
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `The client's answer does not fit the requestedSchema at ${JSON.stringify(first.path)}: ${first.message}`
  )
}
