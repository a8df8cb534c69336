/** What the body of an HTTP answer means for the request that was posted. */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** Whether that request needs nothing more. */
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

/** A body that came with success; `undefined` if it does not answer the request. */
export const read = (body: string, id: JsonRpc.Id, maxDepth?: number): Decoded | undefined => {
  const decoded = Framing.decode(body, undefined, maxDepth)
  return answers(decoded, id) ? decoded : undefined
}

/** Who may not ask has no answer, whatever the body says: that is for who knows about credentials. */
const unauthorized: ReadonlySet<number> = new Set([401, 403])

const busy: ReadonlySet<number> = new Set([408, 425, 429])

/** By these a server says that it has no time now. */
export const isBusy = (status: number): boolean => busy.has(status)

/** HTTP has statuses for what it does not understand. Those for whom it does not know, or has no time, say nothing about the era. */
export const isForeign = (status: number): boolean =>
  status >= 400 && status < 500 && !unauthorized.has(status) && !isBusy(status)

/** A body that came with an error status: the answer, if it is an error that is not about another request. */
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
 * Whether a server that answers `initialize` so may be one of HTTP with SSE (spec 2026-07-28: basic/transports/streamable-http,
 * backward compatibility).
 */
export const isOlder = (status: number, answer: Decoded | undefined): boolean => {
  if (status !== 400 && status !== 404 && status !== 405) return false
  if (answer?._tag !== "Message" || !("error" in answer.message)) return true
  const { code } = answer.message.error
  return !modern.has(code) && !(status === 404 && code === McpError.MethodNotFound)
}
