/** What the response to a POST means for its request. */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { unauthorized } from "./statuses.ts"

/** Whether the message answers the request. */
export const answers = (decoded: Decoded, id: JsonRpc.Id): boolean => {
  if (decoded._tag === "Batch") return decoded.members.some((member) => answers(member, id))
  if (decoded._tag === "InvalidMessage") return decoded.response && decoded.id === id
  return JsonRpc.isResponse(decoded.message) && decoded.message.id === id
}

const resultOf = (decoded: Decoded): unknown =>
  decoded._tag === "Message" && "result" in decoded.message ? decoded.message.result : undefined

export const succeeds = (decoded: Decoded): boolean => resultOf(decoded) !== undefined

/** The revision that an answer to `initialize` names. */
export const agreedOn = (decoded: Decoded): string | undefined => {
  const result = resultOf(decoded)
  return isJsonObject(result) && typeof result.protocolVersion === "string" ? result.protocolVersion : undefined
}

/** The answer in the body of a successful response; `undefined` if it does not answer the request. */
export const read = (body: string, id: JsonRpc.Id, maxDepth?: number): Decoded | undefined => {
  const decoded = Framing.decode(body, undefined, maxDepth)
  return answers(decoded, id) ? decoded : undefined
}

/** The answer in the body of an error status: an error that names this request, or none. */
export const readError = (status: number, body: string, id: JsonRpc.Id, maxDepth?: number): Decoded | undefined => {
  const decoded = unauthorized.has(status) ? undefined : Framing.decode(body, undefined, maxDepth)
  if (decoded?._tag !== "Message" || !("error" in decoded.message)) return undefined
  const { message } = decoded
  return message.id === id || message.id === undefined || message.id === null
    ? { ...decoded, message: JsonRpc.failure(id, message.error) }
    : undefined
}

const modern: ReadonlySet<number> = new Set([
  McpError.HeaderMismatch,
  McpError.MissingClientCapability,
  McpError.UnsupportedProtocolVersion
])

/**
 * Whether a server that answers `initialize` with this status may speak HTTP with SSE (spec 2026-07-28:
 * basic/transports/streamable-http, backward compatibility).
 */
export const isOlder = (status: number, answer: Decoded | undefined): boolean => {
  if (status !== 400 && status !== 404 && status !== 405) return false
  if (answer?._tag !== "Message" || !("error" in answer.message)) return true
  const { code } = answer.message.error
  return !modern.has(code) && !(status === 404 && code === McpError.MethodNotFound)
}
