/**
 * HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26.
 *
 * Messages of the client are POSTed to the URI that the server names first.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as HttpClientSender from "./http/HttpClientSender.ts"
import * as SseTransport from "./http/SseTransport.ts"

export interface Options extends SseTransport.Options {
  /** Headers of the GET and of every POST. */
  readonly headers?: Headers.Input | undefined
}

export type Requirements = HttpClient.HttpClient

/**
 * A transport over HTTP with SSE, for as long as the scope. Waits for the server to name the URI for POSTs.
 *
 * Fails with a `TransportError` (spec 2024-11-05: basic/transports, HTTP with SSE). Its reason is `Status` for a refused GET, and
 * `Read` for a broken stream; `Open` for an invalid URL or header, or a server that names no URI of the same origin.
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
