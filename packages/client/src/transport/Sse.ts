/**
 * HTTP with SSE transport (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26.
 *
 * The client POSTs its messages to a URI that the server sends as its first event.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as HttpClientSender from "./http/HttpClientSender.ts"
import * as SseTransport from "./http/SseTransport.ts"

export interface Options extends SseTransport.Options {
  /** Headers to add to the GET request and every POST. Default none. */
  readonly headers?: Headers.Input | undefined
}

export type Requirements = HttpClient.HttpClient

/**
 * Opens an HTTP with SSE transport that closes with the scope. Waits for the server to send the URI for POST requests.
 *
 * Fails with a `TransportError`. The reason is `Status` if the server rejects the GET request, `Read` if the stream breaks, and `Open` if
 * the URL or a header is invalid or the server doesn't send a same-origin URI.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 *
 * @example
 * ```ts
 * import { McpClient, Sse } from "@effect-mcp/client"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const client = yield* McpClient.connect(yield* Sse.open({ url: "http://127.0.0.1:3000/sse" }))
 *   return client.serverInfo
 * })
 * ```
 */
export const open = (options: Options): Effect.Effect<Transport, TransportError, Scope.Scope | Requirements> =>
  Effect.flatMap(HttpClient.HttpClient, (http) =>
    SseTransport.open(HttpClientSender.make(http), options, Headers.fromInput(options.headers))
  )
