/**
 * Code around every request that a client sends, and around every question of a server that it answers: logging, retry, caching,
 * credentials, metrics.
 *
 * It sees messages as they are on the wire, so each try and each round of a request passes it, and the handshake too. A client that is
 * built without it has none of this on its way.
 */
import { effectOf } from "@effect-mcp/core/internal/callback"
import { HandlerContext } from "@effect-mcp/core/internal/HandlerContext"
import type { RequestError } from "@effect-mcp/core/Peer"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** A request that is about to be sent. */
export interface OutboundRequest {
  readonly method: string
  /** In the form of the connection's revision. */
  readonly params: JsonRpc.Params | undefined
  /** HTTP headers of this request; other transports ignore them. */
  readonly headers: RequestHeaders
}

/** What is sent in the place of a request. What is left out stays. */
export interface RequestChanges {
  readonly params?: JsonRpc.Params | undefined
  /** Entries added to the `_meta` of the params. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** Headers added to those of the request. */
  readonly headers?: RequestHeaders | undefined
}

/** Sends the request, each time that its effect runs; gives the result on the wire. */
export type Send<R = never> = (changes?: RequestChanges) => Effect.Effect<unknown, RequestError, R>

/** A question of the server, on the wire. */
export interface ReceivedQuestion {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
  readonly revision: Revision
  readonly server: Implementation
  /** The client's request that the question belongs to, where the wire says so. */
  readonly relatedTo: JsonRpc.Id | undefined
}

/** Middleware of a client. What is left out passes by. */
export interface Middleware<R = never> {
  /**
   * Around every request: those of `callTool` and the like, `ping`, subscriptions, and the handshake (`server/discover`, `initialize`). A
   * result that is cached is not sent. The timeout of a request begins when `next` sends it: code before has no limit of time, and one that
   * never ends holds up the request, or the handshake, until it is interrupted. Bound it by `Effect.timeout`.
   */
  readonly request?: (request: OutboundRequest, next: Send) => Effect.Effect<unknown, RequestError, R>
  /** Around every question but `ping`, with `Requester` in its context. Its result is the answer on the wire. */
  readonly question?: (
    question: ReceivedQuestion,
    next: Effect.Effect<unknown, McpError>
  ) => Effect.Effect<unknown, McpError, R>
}

/** The middleware of clients that are built in this context, the outermost first. */
export class ClientMiddleware extends Context.Service<ClientMiddleware, ReadonlyArray<Middleware>>()(
  "@effect-mcp/client/ClientMiddleware"
) {}

/**
 * The middleware of the clients that are given this layer, the first outermost. Middleware that the layer itself is given lies outside of it.
 *
 * @example
 * ```ts
 * import { ClientMiddleware, McpClient } from "@effect-mcp/client"
 * import { Effect, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const logged: ClientMiddleware.Middleware = {
 *   request: ({ method }, next) => Effect.tapError(next(), ({ message }) => Effect.logWarning(`${method}: ${message}`))
 * }
 * const tenant: ClientMiddleware.Middleware = {
 *   request: (_, next) => next({ headers: { "x-tenant": "acme" }, meta: { "com.acme/tenant": "acme" } })
 * }
 *
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([ClientMiddleware.layer(logged, tenant), FetchHttpClient.layer])
 * )
 * ```
 */
export const layer = <R = never>(
  ...middleware: ReadonlyArray<Middleware<R>>
): Layer.Layer<ClientMiddleware, never, R> =>
  Layer.effect(
    ClientMiddleware,
    Effect.gen(function* () {
      const outer = Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => [])
      const context = new HandlerContext<R, never>(yield* Effect.context<R>(), { forwardsLogs: false })
      return [...outer, ...middleware.map((one) => inContext(one, context))]
    })
  )

/** `next` runs in the context of the request, the middleware in that of its layer. */
const inContext = <R>({ question, request }: Middleware<R>, context: HandlerContext<R, never>): Middleware => ({
  ...(request && {
    request: (sent, next) =>
      Effect.contextWith((ambient: Context.Context<never>) => {
        const outer = new HandlerContext<never, never>(ambient, { forwardsLogs: false })
        return context.provide(
          effectOf("ClientMiddleware", () => request(sent, (changes) => outer.provide(next(changes))))
        )
      })
  }),
  ...(question && {
    question: (asked, next) =>
      Effect.contextWith((ambient: Context.Context<never>) => {
        const outer = new HandlerContext<never, never>(ambient, { forwardsLogs: false })
        return context.provide(effectOf("ClientMiddleware", () => question(asked, outer.provide(next))))
      })
  })
})
