/**
 * A server at a URL, over the platform's `fetch`: all that `Http` does, without an `HttpClient`.
 *
 * Nothing is sent before the first message.
 */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as FetchSender from "./http/FetchSender.ts"
import * as HttpTransport from "./http/HttpTransport.ts"

export interface Options extends HttpTransport.Options {
  /** Headers of every request. */
  readonly headers?: { readonly [name: string]: string | undefined } | undefined
  /** Sends the requests, such as a double in tests. Default: the platform's `fetch`. */
  readonly fetch?: FetchSender.Fetch | undefined
  /**
   * Whether requests have the headers of their trace context beside its place in `_meta`. Default true. A page asks the server before it
   * sends these to another origin.
   */
  readonly traceHeaders?: boolean | undefined
}

export { Resume } from "./http/Resume.ts"
export { type KnownTransport, ServerEraCache } from "./http/ServerEraCache.ts"

/**
 * A transport over HTTP, for as long as the scope (spec: basic/transports, Streamable HTTP).
 *
 * Fails with a `TransportError` of reason `Open` for an invalid URL or header. A server that cannot be reached fails the first request.
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
