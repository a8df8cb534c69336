/** The interface through which an HTTP transport sends requests, implemented on top of `fetch` and of `HttpClient`. */
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type * as Stream from "effect/Stream"

export interface RequestToServer {
  readonly method: "DELETE" | "GET" | "POST"
  readonly url: URL
  /** All names are in lower case. */
  readonly headers: RequestHeaders
  readonly body?: string | undefined
}

/** A response. Its body is read once, in one of the two ways, or not at all (`Body.skip`). */
export interface HttpResponse {
  readonly status: number
  /** All names are in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
  readonly arrayBuffer: Effect.Effect<ArrayBuffer, HttpFailure>
  /** Ending early closes the connection. */
  readonly stream: Stream.Stream<Uint8Array, HttpFailure>
}

/** The platform's `fetch` returned no response, or not the complete body. Has the shape of an `HttpClientError`. */
export class FetchFailure extends Data.TaggedError("FetchFailure")<{
  readonly message: string
  readonly reason: { readonly _tag: "TransportError"; readonly cause: unknown }
  readonly cause: unknown
}> {}

export type HttpFailure = FetchFailure | HttpClientError

/** Sends a request without following redirects. Interrupting it, or the reading of the body, closes the connection. */
export type HttpSender = (request: RequestToServer) => Effect.Effect<HttpResponse, HttpFailure>
