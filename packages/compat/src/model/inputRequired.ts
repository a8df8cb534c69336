/** Results that ask for input (2026-07-28): handlers build them and read the answers. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type {
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  InputRequest,
  InputRequiredResult,
  JsonObject
} from "./types.ts"

export type Responses = { [key: string]: unknown } | undefined

const isObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)

export const isInputRequiredResult = (u: unknown): u is InputRequiredResult =>
  isObject(u) && u["resultType"] === "input_required"

const build = (spec: Omit<InputRequiredResult, "resultType">): InputRequiredResult => {
  if (Object.keys(spec.inputRequests ?? {}).length === 0 && spec.requestState === undefined) {
    throw new TypeError("inputRequired needs at least one of inputRequests and requestState")
  }
  return { ...spec, resultType: "input_required" }
}

/** Builds a result that asks for input. Its methods build the questions. */
export const inputRequired = Object.assign(build, {
  elicit: (params: ElicitRequestFormParams): InputRequest => ({ method: "elicitation/create", params }),
  elicitUrl: (params: Omit<ElicitRequestURLParams, "mode" | "elicitationId">): InputRequest => ({
    method: "elicitation/create",
    params: { ...params, mode: "url" }
  }),
  createMessage: (params: CreateMessageRequestParams): InputRequest => ({ method: "sampling/createMessage", params }),
  listRoots: (): InputRequest => ({ method: "roots/list" })
})

/** Returns the content of a form that the user accepted, or `undefined` for any other answer and for content that the schema rejects. */
export function acceptedContent<T extends JsonObject = JsonObject>(responses: Responses, key: string): T | undefined
export function acceptedContent<S extends StandardSchemaV1>(
  responses: Responses,
  key: string,
  schema: S
): StandardSchemaV1.InferOutput<S> | undefined
export function acceptedContent(responses: Responses, key: string, schema?: StandardSchemaV1): unknown {
  const answer = responses?.[key]
  if (!isObject(answer) || answer["action"] !== "accept" || !isObject(answer["content"])) return undefined
  if (schema === undefined) return answer["content"]
  const result = schema["~standard"].validate(answer["content"])
  if (result instanceof Promise) {
    result.catch(() => undefined)
    throw new TypeError("acceptedContent does not support schemas that validate asynchronously")
  }
  return result.issues === undefined ? result.value : undefined
}
