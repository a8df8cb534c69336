/**
 * A response of server-sent events. Its body is a stream that any platform can send; where there is a response of Node's, the flow that
 * the stream was made of is written to that instead (`http/Direct`).
 */
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Flow } from "./SseBody.ts"
import type { Pulse } from "./KeepAliveTimer.ts"

const contentType = "text/event-stream"
// Proxies must neither keep it nor collect it.
const headers = { "content-type": contentType, "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

export class Events extends HttpBody.Stream {
  readonly flow: Flow
  readonly pulse: Pulse

  constructor(flow: Flow, pulse: Pulse) {
    super(flow.body(pulse), contentType, undefined)
    this.flow = flow
    this.pulse = pulse
  }
}

export const events = (
  flow: Flow,
  pulse: Pulse,
  more?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setBody(
    HttpServerResponse.empty({ status: 200, headers: more === undefined ? headers : { ...headers, ...more } }),
    new Events(flow, pulse)
  )

/** There will be none. */
export const noEvents = HttpServerResponse.empty({ status: 200, headers })
