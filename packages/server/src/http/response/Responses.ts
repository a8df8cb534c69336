/**
 * Responses that an HTTP endpoint sends itself: a status, and a JSON-RPC error with the reason.
 *
 * The status depends on the stage that rejected the request, never on the error code. An error returned by a handler is a 200.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { bytesOf } from "../../internal/bytesOf.ts"
import { notBegun } from "../../internal/notBegun.ts"

/** A response with a JSON-RPC error, or only a status. */
export type ErrorResponse = HttpServerResponse.HttpServerResponse

/** Creates an error response. `id` is the request's ID if known, or `null` if the revision requires that for an unreadable message. */
export const refuse = (
  status: number,
  error: McpError.McpError,
  id?: JsonRpc.Id | null,
  headers?: { readonly [name: string]: string }
): ErrorResponse => json(JsonRpc.encode(JsonRpc.failure(id, error)), status, headers)

/** Length above which text is sent as bytes. As text, it would be copied in order to join it with the head. */
const longText = 64 * 1024

/** Sends a message, or an array of messages, as text. */
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

/** 429: the caller or the endpoint has reached its limit on `what`. */
export const tooMany = (what: string, limit: number, id?: JsonRpc.Id): ErrorResponse =>
  refuse(429, McpError.limitExceeded(`Too many ${what} (limit ${limit})`), id, soon)

/** 503: the endpoint has reached its limit on `what`, across all callers. */
export const full = (what: string, limit: number, id?: JsonRpc.Id): ErrorResponse =>
  refuse(503, McpError.limitExceeded(`Too many ${what} (limit ${limit})`), id, soon)

/** 503: the endpoint is shutting down and has not started the request. */
export const shuttingDown = (id?: JsonRpc.Id): ErrorResponse => refuse(503, notBegun, id, soon)

/** 503: the event store failed. */
export const storeFailed = refuse(
  503,
  McpError.interrupted("The event store failed. Resume the stream again later"),
  undefined,
  soon
)

/** 404: this caller has no open session with this ID. The client has to initialize again. */
export const noSession = (id?: JsonRpc.Id): ErrorResponse =>
  refuse(
    404,
    McpError.invalidRequest("Session not found: it has expired or was closed. Send initialize to open a new one"),
    id
  )

/** Sends a server's response as JSON, with the status that its error requires, or else with `status`. */
export const answered = (text: string, refusal: JsonRpc.HttpRefusal | undefined, status = 200): ErrorResponse => {
  if (refusal === undefined) return json(text, status)
  const { challenge } = refusal
  return json(text, refusal.status, challenge === undefined ? undefined : { "www-authenticate": challenge })
}

/** Returns the HTTP status and headers that a response's error requires, or `undefined` if there are none. */
export const refusalOf = (message: JsonRpc.Message): JsonRpc.HttpRefusal | undefined =>
  "error" in message ? message.error[JsonRpc.httpRefusal] : undefined

/** Answers a posted response at an endpoint without sessions. */
export const unexpectedResponse = refuse(
  400,
  McpError.invalidRequest("This endpoint has no sessions and never sends requests, so it does not accept responses")
)
