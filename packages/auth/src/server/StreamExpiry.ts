/**
 * The end of long-lived responses at the expiry of the token that opened them; the client opens another with a fresh token.
 *
 * Owns which responses these are: the standalone GET stream of a session, and `subscriptions/listen`. The response to any other request may
 * outlive its token. The stream of HTTP with SSE (2024-11-05) is its session, and each message there carries a token of its own.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** Whether the request opens a long-lived response. */
export const isLongLived = ({ headers, method }: Pick<HttpServerRequest, "headers" | "method">): boolean =>
  method === "GET" ? headers["mcp-session-id"] !== undefined : headers["mcp-method"] === "subscriptions/listen"

/** The response, ended at `end` (milliseconds since 1970) if its body is a stream. */
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
