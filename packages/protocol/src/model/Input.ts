/**
 * Multi round-trip requests (MRTR): a result that contains questions for the client, since 2026-07-28.
 *
 * The client gets answers from its user or model, then sends the request again with the answers (`Meta.inputFields`).
 */
import * as Schema from "effect/Schema"
import { ElicitParams } from "./Elicitation.ts"
import { InputResponses, metaFields, RequestParams } from "./Meta.ts"
import { CreateMessageParams } from "./Sampling.ts"
import { struct } from "./Shape.ts"

export { InputResponses }

/** A single question. In the stateful era, the server sends it as a request. */
export const InputRequest = Schema.Union([
  Schema.Struct({ method: Schema.Literal("elicitation/create"), params: ElicitParams }),
  Schema.Struct({ method: Schema.Literal("sampling/createMessage"), params: CreateMessageParams }),
  Schema.Struct({ method: Schema.Literal("roots/list"), params: Schema.optionalKey(RequestParams) })
])
export type InputRequest = typeof InputRequest.Type

/** Questions, under keys the server chooses. */
export const InputRequests = Schema.Record(Schema.String, InputRequest)
export type InputRequests = typeof InputRequests.Type

/**
 * A result with questions, with a state that the client must send back unchanged, or with both. A state without questions asks the client
 * to retry. This result is never cached.
 */
export const InputRequiredResult = struct("InputRequiredResult", {
  ...metaFields,
  resultType: Schema.Literal("input_required"),
  inputRequests: Schema.optionalKey(InputRequests),
  requestState: Schema.optionalKey(Schema.String)
}).check(
  Schema.makeFilter((result) =>
    result.inputRequests === undefined && result.requestState === undefined
      ? "needs inputRequests or requestState"
      : undefined
  )
)
export type InputRequiredResult = typeof InputRequiredResult.Type
