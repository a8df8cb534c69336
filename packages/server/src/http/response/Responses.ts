/**
 * What an HTTP endpoint answers by itself: a status, and a JSON-RPC error that says why.
 *
 * Statuses go by the stage that refused, never by the code: what a handler answers is an answer like any other.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { bytesOf } from "../../internal/bytesOf.ts"

export type Refusal = HttpServerResponse.HttpServerResponse

/** `id`: of the request that is refused, if there is one; `null` where a revision wants it for an unreadable one. */
export const refuse = (
  status: number,
  error: McpError.McpError,
  id?: JsonRpc.Id | null,
  headers?: { readonly [name: string]: string }
): Refusal => json(JsonRpc.encode(JsonRpc.failure(id, error)), status, headers)

/** From this length on a text is cheaper to send as bytes: as text it is put together with its head, and copied for that. */
const longText = 64 * 1024

/** A message, or an array of them, that is already text. */
export const json = (text: string, status = 200, headers?: { readonly [name: string]: string }): Refusal => {
  const options = { status, contentType: "application/json", ...(headers === undefined ? undefined : { headers }) }
  return text.length < longText
    ? HttpServerResponse.text(text, options)
    : HttpServerResponse.uint8Array(bytesOf(text), options)
}

/** A message that needs no answer was taken. */
export const accepted = HttpServerResponse.empty({ status: 202, headers: { "content-length": "0" } })

const soon = { "retry-after": "1" }

export const tooMany = (what: string, limit: number, id?: JsonRpc.Id): Refusal =>
  refuse(429, McpError.limitExceeded(`More than ${limit} ${what}`), id, soon)

/** There is no room for more of something that only time or others make room for. */
export const full = (what: string, limit: number, id?: JsonRpc.Id): Refusal =>
  refuse(503, McpError.limitExceeded(`More than ${limit} ${what}`), id, soon)

export const shuttingDown = (id?: JsonRpc.Id): Refusal =>
  refuse(503, McpError.interrupted("The server is shutting down"), id)

/** No session of that id is open, or none that this caller may use: a client starts anew. */
export const noSession = (id?: JsonRpc.Id): Refusal =>
  refuse(404, McpError.invalidRequest("There is no such session: it has expired or was ended"), id)
