/**
 * A response with server-sent events. Its body is a Stream that any platform can send. On `node:http`, its `SseBody` is written directly
 * instead (`NodeResponseWriter`).
 */
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { KeepAliveTimer, SseBody } from "./SseBody.ts"

const contentType = "text/event-stream"
// Proxies must neither cache nor buffer the response.
const headers = { "content-type": contentType, "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

/** The body in the form that Effect's HTTP servers expect. */
export class SseHttpBody extends HttpBody.Stream {
  readonly sse: SseBody
  readonly keepAlive: KeepAliveTimer

  constructor(sse: SseBody, keepAlive: KeepAliveTimer) {
    super(sse.stream(keepAlive), contentType, undefined)
    this.sse = sse
    this.keepAlive = keepAlive
  }
}

/** Creates the response. `more` are headers besides the standard ones of an event stream. */
export const sseResponse = (
  sse: SseBody,
  keepAlive: KeepAliveTimer,
  more?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setBody(
    HttpServerResponse.empty({ status: 200, headers: more === undefined ? headers : { ...headers, ...more } }),
    new SseHttpBody(sse, keepAlive)
  )

/** An event stream without events. */
export const emptySseResponse = HttpServerResponse.empty({ status: 200, headers })
