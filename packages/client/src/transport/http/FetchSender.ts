/** Sends requests with the platform's `fetch` instead of Effect's `HttpClient`, which would make up a tenth of a small client. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { FetchFailure, type HttpResponse, type HttpSender } from "./HttpSender.ts"

/** The platform's `fetch`, or a function in its place. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

const messageOf = (cause: unknown): string => {
  if (cause instanceof Error) return cause.message
  return typeof cause === "string" ? cause : "unknown reason"
}

const failure = (cause: unknown): FetchFailure =>
  new FetchFailure({ message: messageOf(cause), reason: { _tag: "TransportError", cause }, cause })

/** Runs a step of an exchange. Interrupting it aborts the whole exchange. */
const step = <A>(exchange: AbortController, run: () => Promise<A>): Effect.Effect<A, FetchFailure> =>
  Effect.onInterrupt(Effect.tryPromise({ try: run, catch: failure }), () => Effect.sync(() => exchange.abort()))

class FetchResponse implements HttpResponse {
  readonly status: number
  readonly headers: HttpResponse["headers"]
  private readonly response: Response
  private readonly exchange: AbortController

  constructor(response: Response, exchange: AbortController) {
    this.status = response.status
    const headers = Object.fromEntries(response.headers)
    // A page cannot see that a response from another origin is compressed, so this may be the length of the compressed body.
    if (response.type === "cors") delete headers["content-length"]
    this.headers = headers
    this.response = response
    this.exchange = exchange
  }

  get arrayBuffer(): HttpResponse["arrayBuffer"] {
    return step(this.exchange, () => this.response.arrayBuffer())
  }

  get stream(): HttpResponse["stream"] {
    const { body } = this.response
    return body
      ? Stream.fromReadableStream({ evaluate: () => body, onError: failure })
      : // Empty, or the whole body at once if the platform has no streams, such as React Native.
        Stream.fromEffect(Effect.map(this.arrayBuffer, (bytes) => new Uint8Array(bytes)))
  }
}

/** Sends every request with the function. */
export const make =
  (fetch: Fetch): HttpSender =>
  ({ body, headers, method, url }) =>
    Effect.suspend(() => {
      const exchange = new AbortController()
      const { signal } = exchange
      // The platform measures the body itself, and rejects a request with a different length.
      const { "content-length": _, ...sent } = headers
      const init: RequestInit = {
        method,
        headers: sent,
        redirect: "manual",
        signal,
        ...(body !== undefined && { body })
      }
      return step(exchange, async () => {
        const response = await fetch(url, init)
        // A function used in place of `fetch` may ignore the signal.
        if (signal.aborted) response.body?.cancel().catch(() => undefined)
        return new FetchResponse(response, exchange)
      })
    })
