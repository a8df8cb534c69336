/**
 * A server at a URL: Streamable HTTP in every revision, or HTTP with SSE (2024-11-05) where the server speaks only that.
 *
 * Every request uses the `HttpClient` of the context, which may add credentials and retries. Nothing is sent before the first message.
 */
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { RemoteEndpoint } from "./http/Endpoint.ts"
import * as ExchangeFailure from "./http/ExchangeFailure.ts"
import * as ServerEraCache from "./http/ServerEraCache.ts"
import * as Streamable from "./http/Streamable.ts"
import { loadSse } from "./loadSse.ts"

export interface Options extends Streamable.Options {
  /** The URL of the server's endpoint. */
  readonly url: string | URL
  /** Headers of every request. */
  readonly headers?: Headers.Input | undefined
  /**
   * The transport. Default `auto`: Streamable HTTP, or HTTP with SSE if the server refuses that; the next connection to the same URL
   * begins with the one that was found.
   */
  readonly transport?: "auto" | "streamable" | "sse" | undefined
}

export type Requirements = HttpClient.HttpClient

export { Resume } from "./http/Resume.ts"
export { type KnownTransport, ServerEraCache } from "./http/ServerEraCache.ts"

/**
 * A transport over HTTP, for as long as the scope (spec: basic/transports, Streamable HTTP).
 *
 * Fails with a `TransportError` of reason `Open` for an invalid URL. A server that cannot be reached fails the first request.
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
  const { controlCap, headers, highWater, maxMessageBytes, maxMessageDepth, transport = "auto" } = options
  const place = String(options.url)
  if (!URL.canParse(place)) {
    return yield* new TransportError({ reason: "Open", message: `Not a URL: ${JSON.stringify(place)}` })
  }
  const url = new URL(place)
  const sse = Effect.flatMap(
    Effect.mapError(loadSse, (error) => ExchangeFailure.notLoaded(error).error),
    ({ open }) => open({ url, headers, maxMessageBytes, maxMessageDepth, highWater, controlCap })
  )
  if (transport === "sse") return yield* sse
  const http = yield* HttpClient.HttpClient
  const scope = yield* Scope.Scope
  const servers = yield* ServerEraCache.ServerEraCache
  const older = Effect.provideService(Scope.provide(sse, scope), HttpClient.HttpClient, http)
  const known = ServerEraCache.recall(servers, url)
  if (known === "sse" && transport === "auto") {
    const opened = yield* Effect.option(older)
    if (Option.isSome(opened)) return { ...opened.value, era: "stateful" }
  }
  const streamable = yield* Streamable.make(
    {
      endpoint: new RemoteEndpoint(http, url, headers, yield* HttpClient.TracerPropagationEnabled),
      fallback: transport === "auto" ? older : undefined,
      learned: (what) => ServerEraCache.remember(servers, url, what)
    },
    options
  )
  return known === "streamable" ? { ...streamable, era: "stateful" } : streamable
})
