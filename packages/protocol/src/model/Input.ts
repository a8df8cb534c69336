/**
 * Multi round-trip requests (MRTR): a result that carries questions for the client, since 2026-07-28.
 *
 * The client answers them by its user or model, and sends the request again with the answers (`Meta.inputFields`).
 */
import * as Schema from "effect/Schema"
import { ElicitParams } from "./Elicitation.ts"
import { InputResponses, metaFields, RequestParams } from "./Meta.ts"
import { CreateMessageParams } from "./Sampling.ts"
import { struct } from "./Shape.ts"

export { InputResponses }

/** One question; in the stateful era it is a request of the server. */
export const InputRequest = Schema.Union([
  Schema.Struct({ method: Schema.Literal("elicitation/create"), params: ElicitParams }),
  Schema.Struct({ method: Schema.Literal("sampling/createMessage"), params: CreateMessageParams }),
  Schema.Struct({ method: Schema.Literal("roots/list"), params: Schema.optionalKey(RequestParams) })
])
export type InputRequest = typeof InputRequest.Type

/** Questions by keys that the server chose. */
export const InputRequests = Schema.Record(Schema.String, InputRequest)
export type InputRequests = typeof InputRequests.Type

/**
 * The result with questions, with a state that the client returns unchanged, or with both; a state alone asks for a retry. It is never
 * cached.
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
