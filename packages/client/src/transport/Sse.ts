/**
 * The transport for HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26.
 *
 * The client POSTs its messages to the URI that the server sends first.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as HttpClientSender from "./http/HttpClientSender.ts"
import * as SseTransport from "./http/SseTransport.ts"

export interface Options extends SseTransport.Options {
  /** Headers to add to the GET and to every POST. Default none. */
  readonly headers?: Headers.Input | undefined
}

export type Requirements = HttpClient.HttpClient

/**
 * Opens a transport over HTTP with SSE that closes with the scope. Waits until the server names the URI for POSTs.
 *
 * Fails with a `TransportError`. Its reason is `Status` if the server rejects the GET, `Read` if the stream breaks, or `Open` if the URL or
 * a header is invalid or the server names no URI of the same origin.
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
