/**
 * How long a response may stay open that its client keeps open: until the token expires, that let it in. The client comes back with a
 * fresh one.
 *
 * Owns which responses these are: a session's own stream, and a subscription. What answers a request may end it, however long that
 * takes; the stream of HTTP with SSE is its session, in which every message is let in by itself.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** Whether the request asks for a response that its client keeps open. */
export const isLongLived = ({ headers, method }: Pick<HttpServerRequest, "headers" | "method">): boolean =>
  method === "GET" ? headers["mcp-session-id"] !== undefined : headers["mcp-method"] === "subscriptions/listen"

/** Ends the response, if it is a stream, at that time (milliseconds since 1970). */
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
