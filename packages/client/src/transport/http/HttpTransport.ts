/** A transport over HTTP on any sender: Streamable HTTP, or HTTP with SSE if the server only supports that. */
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Endpoint from "./Endpoint.ts"
import type { HttpSender } from "./HttpSender.ts"
import * as SseTransport from "./SseTransport.ts"
import * as ServerEraCache from "./ServerEraCache.ts"
import * as Streamable from "./Streamable.ts"

export interface Options extends Streamable.Options {
  /** URL of the server's endpoint. */
  readonly url: string | URL
  /**
   * The transport. Default `auto`: Streamable HTTP, or HTTP with SSE if the server rejects that. The next connection to the same URL starts
   * with the transport that worked.
   */
  readonly transport?: "auto" | "streamable" | "sse" | undefined
}

/** `given` are the headers for every request. `propagates` says whether requests carry their trace context as headers. */
export const open = Effect.fnUntraced(function* (
  send: HttpSender,
  options: Options,
  given: Endpoint.HeadersOption,
  propagates?: boolean
): Effect.fn.Return<Transport, TransportError, Scope.Scope> {
  const { controlCap, highWater, maxMessageBytes, maxMessageDepth, transport = "auto" } = options
  const url = yield* Endpoint.parse(options.url)
  const headers = yield* Endpoint.sendable(given)
  const sse = SseTransport.open(send, { url, maxMessageBytes, maxMessageDepth, highWater, controlCap }, headers)
  if (transport === "sse") return yield* sse
  const scope = yield* Scope.Scope
  const servers = yield* ServerEraCache.ServerEraCache
  const older = Scope.provide(sse, scope)
  const known = ServerEraCache.recall(servers, url)
  if (known === "sse" && transport === "auto") {
    const opened = yield* Effect.option(older)
    if (Option.isSome(opened)) return { ...opened.value, era: "stateful" }
  }
  const streamable = yield* Streamable.make(
    {
      endpoint: new Endpoint.RemoteEndpoint(send, url, headers, propagates),
      fallback: transport === "auto" ? older : undefined,
      learned: (what) => ServerEraCache.remember(servers, url, what)
    },
    options
  )
  return known === "streamable" ? { ...streamable, era: "stateful" } : streamable
})
