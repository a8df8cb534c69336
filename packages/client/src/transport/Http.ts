/**
 * A server at a URL: Streamable HTTP in every revision, or HTTP with SSE (2024-11-05) where the server speaks only that.
 *
 * Every request uses the `HttpClient` of the context, which may add credentials and retries. Nothing is sent before the first message.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as HttpClientSender from "./http/HttpClientSender.ts"
import * as HttpTransport from "./http/HttpTransport.ts"

export interface Options extends HttpTransport.Options {
  /** Headers of every request. */
  readonly headers?: Headers.Input | undefined
}

export type Requirements = HttpClient.HttpClient

export { Resume } from "./http/Resume.ts"
export { type KnownTransport, ServerEraCache } from "./http/ServerEraCache.ts"

/**
 * A transport over HTTP, for as long as the scope (spec: basic/transports, Streamable HTTP).
 *
 * Fails with a `TransportError` of reason `Open` for an invalid URL or header. A server that cannot be reached fails the first request.
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
