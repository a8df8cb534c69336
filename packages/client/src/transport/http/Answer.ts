/** Reads the body of a successful response to a POST. */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** True if the message answers the request. */
export const answers = (decoded: Decoded, id: JsonRpc.Id): boolean => {
  if (decoded._tag === "Batch") return decoded.members.some((member) => answers(member, id))
  if (decoded._tag === "InvalidMessage") return decoded.response && decoded.id === id
  return JsonRpc.isResponse(decoded.message) && decoded.message.id === id
}

const resultOf = (decoded: Decoded): unknown =>
  decoded._tag === "Message" && "result" in decoded.message ? decoded.message.result : undefined

export const succeeds = (decoded: Decoded): boolean => resultOf(decoded) !== undefined

/** Returns the revision that an answer to `initialize` names. */
export const agreedOn = (decoded: Decoded): string | undefined => {
  const result = resultOf(decoded)
  return isJsonObject(result) && typeof result.protocolVersion === "string" ? result.protocolVersion : undefined
}

/** Returns the answer in the body of a successful response, or `undefined` if it does not answer the request. */
export const read = (body: string, id: JsonRpc.Id, maxDepth?: number): Decoded | undefined => {
  const decoded = Framing.decode(body, undefined, maxDepth)
  return answers(decoded, id) ? decoded : undefined
}
