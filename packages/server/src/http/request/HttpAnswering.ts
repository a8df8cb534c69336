/** The part of an endpoint that answers requests, and the wrapper that reports to an observer. */
import { exitOf } from "@effect-mcp/core/internal/calling"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { byteLengthOf } from "../../internal/bytesOf.ts"
import type { Observer } from "../../view/Observer.ts"
import type { Read } from "./Body.ts"
import type { HttpExchange } from "./HttpExchange.ts"
import { type HttpRequest, sessionIdHeader } from "./HttpRequest.ts"
import type { ErrorResponse } from "../response/Responses.ts"
import { SseHttpBody } from "../response/SseBody.ts"

type Answer = Effect.Effect<HttpServerResponse>

/** Answers requests, whatever HTTP server they come from. */
export interface HttpAnswering {
  /** Returns the error response to a request, based only on its headers. For a POST it is called before the body is read. */
  readonly refusal: (http: HttpRequest) => ErrorResponse | undefined
  /** Handles a POST after its body has been read. */
  readonly post: (http: HttpRequest, body: Read, exchange: HttpExchange) => Answer
  /** Handles a request with any other method. */
  readonly other: (http: HttpRequest, exchange: HttpExchange) => Answer
}

/** Statuses that the endpoint itself responds with. Without a session, 400 and 404 may also come from the server. */
const refusals = new Set([401, 403, 405, 406, 413, 415, 429, 500, 503])

/** Reports rejected requests and traffic to an observer. */
export const observed = (endpoint: HttpAnswering, observer: Observer): HttpAnswering => {
  const { carried } = observer
  const look = (http: HttpRequest, { status }: HttpServerResponse): void => {
    if (!refusals.has(status) && !(status === 404 && http.headers[sessionIdHeader] !== undefined)) return
    const { address, method, principal } = http
    observer.refused?.({ status, method, principal, address })
  }
  const answered = (http: HttpRequest, received: number, response: HttpServerResponse): void => {
    const { body, status } = response
    if (status >= 400) look(http, response)
    if (carried === undefined) return
    // Reads `contentLength` rather than the bytes, which are encoded from the text on access.
    if (body._tag === "Uint8Array") return carried(received, body.contentLength)
    // Events are counted as they are written.
    const written = (text: string): void => carried(0, byteLengthOf(text))
    if (body instanceof SseHttpBody) body.sse.written = written
    carried(received, 0)
  }
  /** Creates no effect if the response is already available. */
  const then = (http: HttpRequest, received: number, answer: Answer): Answer => {
    const exit = exitOf(answer)
    if (exit === undefined)
      return Effect.tap(answer, (response) => Effect.sync(() => answered(http, received, response)))
    if (Exit.isSuccess(exit)) answered(http, received, exit.value)
    return answer
  }
  return {
    refusal: (http) => {
      const refused = endpoint.refusal(http)
      if (refused !== undefined) look(http, refused)
      return refused
    },
    post: (http, body, exchange) =>
      then(http, typeof body === "string" ? 0 : body.length, endpoint.post(http, body, exchange)),
    other: (http, exchange) => then(http, 0, endpoint.other(http, exchange))
  }
}
