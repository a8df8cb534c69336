/**
 * Streamable HTTP transport on top of the platform's `fetch`. Has all the features of `Http`, but doesn't need an `HttpClient`.
 *
 * No request is made until the first message is sent.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as FetchSender from "./http/FetchSender.ts"
import * as HttpTransport from "./http/HttpTransport.ts"

export interface Options extends HttpTransport.Options {
  /** Headers to add to every request. Default none. */
  readonly headers?: { readonly [name: string]: string | undefined } | undefined
  /** Function that performs the requests. Default: the platform's `fetch`. Tests can pass a stub. */
  readonly fetch?: FetchSender.Fetch | undefined
  /**
   * Whether to send trace context as headers, in addition to `_meta`. In a browser, these headers trigger a CORS preflight on cross-origin
   * requests. Default true.
   */
  readonly traceHeaders?: boolean | undefined
}

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
 * import { Fetch, McpClient } from "@effect-mcp/client"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const transport = yield* Fetch.open({ url: "https://mcp.example.com/mcp", transport: "streamable" })
 *   const client = yield* McpClient.connect(transport)
 *   return client.serverInfo
 * })
 * ```
 */
export const open = (options: Options): Effect.Effect<Transport, TransportError, Scope.Scope> =>
  HttpTransport.open(
    FetchSender.make(options.fetch ?? globalThis.fetch),
    options,
    options.headers ?? {},
    options.traceHeaders
  )
