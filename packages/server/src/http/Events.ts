/** A response of server-sent events. */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Stream from "effect/Stream"

// Proxies must neither keep it nor collect it.
const headers = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

export const events = (
  body: Stream.Stream<Uint8Array>,
  more?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(body, {
    contentType: "text/event-stream",
    headers: more === undefined ? headers : { ...headers, ...more }
  })
