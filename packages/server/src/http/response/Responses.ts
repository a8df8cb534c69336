/**
 * The responses that an HTTP endpoint gives by itself: a status, and a JSON-RPC error with the reason.
 *
 * The status follows the stage that refused, never the code: an error that a handler answers is 200.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { bytesOf } from "../../internal/bytesOf.ts"

/** A response with a JSON-RPC error, or with a status alone. */
export type ErrorResponse = HttpServerResponse.HttpServerResponse

/** `id`: of the refused request, if it is known; `null` where the revision wants that for a message that could not be read. */
export const refuse = (
  status: number,
  error: McpError.McpError,
  id?: JsonRpc.Id | null,
  headers?: { readonly [name: string]: string }
): ErrorResponse => json(JsonRpc.encode(JsonRpc.failure(id, error)), status, headers)

/** From this length on a text is sent as bytes: as text it is joined with the head, and copied for that. */
const longText = 64 * 1024

/** A message, or an array of them, as text. */
export const json = (
  text: string,
  status = 200,
  headers?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse => {
  const options = { status, contentType: "application/json", ...(headers === undefined ? undefined : { headers }) }
  return text.length < longText
    ? HttpServerResponse.text(text, options)
    : HttpServerResponse.uint8Array(bytesOf(text), options)
}

/** The response to notifications and responses. */
export const accepted = HttpServerResponse.empty({ status: 202, headers: { "content-length": "0" } })

const soon = { "retry-after": "1" }

/** 429: the caller, or the endpoint, has as many of them as it may. */
export const tooMany = (what: string, limit: number, id?: JsonRpc.Id): ErrorResponse =>
  refuse(429, McpError.limitExceeded(`More than ${limit} ${what}`), id, soon)

/** 503: the endpoint has as many of them as it may, of all callers. */
export const full = (what: string, limit: number, id?: JsonRpc.Id): ErrorResponse =>
  refuse(503, McpError.limitExceeded(`More than ${limit} ${what}`), id, soon)

/** 503: the endpoint is ending, and has not begun the request. */
export const shuttingDown = (id?: JsonRpc.Id): ErrorResponse =>
  refuse(503, McpError.interrupted("The server is shutting down: the request was not begun, send it again"), id, soon)

/** 503: the store of events failed. */
export const storeFailed = refuse(
  503,
  McpError.interrupted("The events cannot be read now: resume the stream again"),
  undefined,
  soon
)

/** 404: no session of that id is open for this caller. The client has to initialize anew. */
export const noSession = (id?: JsonRpc.Id): ErrorResponse =>
  refuse(404, McpError.invalidRequest("There is no such session: it has expired or was ended"), id)

/** The answer of a server as JSON: with the status that its error asks for, else with `status`. */
export const answered = (text: string, refusal: JsonRpc.HttpRefusal | undefined, status = 200): ErrorResponse => {
  if (refusal === undefined) return json(text, status)
  const { challenge } = refusal
  return json(text, refusal.status, challenge === undefined ? undefined : { "www-authenticate": challenge })
}

/** What HTTP says of the error of a response; undefined where that is nothing of its own. */
export const refusalOf = (message: JsonRpc.Message): JsonRpc.HttpRefusal | undefined =>
  "error" in message ? message.error[JsonRpc.httpRefusal] : undefined

/** Of an endpoint without sessions. */
export const unexpectedResponse = refuse(
  400,
  McpError.invalidRequest("This endpoint has no sessions and asks nothing: no response is expected")
)
