/**
 * Ends long-lived responses when the token that opened them expires. The client then reconnects with a fresh token.
 *
 * Decides which responses are long-lived: a session's standalone GET stream and `subscriptions/listen`. Other responses may outlive their
 * token. So may an HTTP+SSE stream (2024-11-05): it is the session itself, and each message to it carries its own token.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** True if the request opens a long-lived response. */
export const isLongLived = ({ headers, method }: Pick<HttpServerRequest, "headers" | "method">): boolean =>
  method === "GET" ? headers["mcp-session-id"] !== undefined : headers["mcp-method"] === "subscriptions/listen"

/** Ends a streamed response at `end`, in milliseconds since 1970. Returns other responses unchanged. */
export const endAt = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  end: number
): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
  const { body } = response
  if (body._tag !== "Stream") return response
  const rest = Math.max(0, end - (yield* Clock.currentTimeMillis))
  const bounded = Stream.interruptWhen(body.stream, Effect.sleep(rest))
  return HttpServerResponse.setBody(response, HttpBody.stream(bounded, body.contentType, body.contentLength))
})
