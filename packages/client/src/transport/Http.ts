/**
 * Transport for a server at a URL. Speaks Streamable HTTP in every revision and falls back to HTTP with SSE (2024-11-05) for older servers.
 *
 * Every request goes through the `HttpClient` in the context, which may add credentials and retry. No request is made until the first
 * message is sent.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as HttpClientSender from "./http/HttpClientSender.ts"
import * as HttpTransport from "./http/HttpTransport.ts"

export interface Options extends HttpTransport.Options {
  /** Headers to add to every request. Default none. */
  readonly headers?: Headers.Input | undefined
}

export type Requirements = HttpClient.HttpClient

export { Resume } from "./http/Resume.ts"
export { type KnownTransport, ServerEraCache } from "./http/ServerEraCache.ts"

/**
 * Opens an HTTP transport that closes with the scope.
 *
 * Fails with a `TransportError` of reason `Open` if the URL or a header is invalid. Does not connect yet: if the server is unreachable, the
 * first request fails.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 *
 * @example
 * ```ts
 * import { Http, McpClient } from "@effect-mcp/client"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const transport = yield* Http.open({ url: "https://mcp.example.com/mcp", transport: "streamable" })
 *   const client = yield* McpClient.connect(transport)
 *   return client.serverInfo
 * })
 * ```
 */
export const open = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Transport, TransportError, Scope.Scope | Requirements> {
  const send = HttpClientSender.make(yield* HttpClient.HttpClient)
  const propagates = yield* HttpClient.TracerPropagationEnabled
  return yield* HttpTransport.open(send, options, Headers.fromInput(options.headers), propagates)
})
