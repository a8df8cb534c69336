/**
 * Middleware around every request a client sends and every server question it answers. Use it for logging, retries, caching, credentials or
 * metrics.
 *
 * Middleware sees messages in wire format, so it also runs for each retry, for each round of a request and for the handshake. A client
 * without middleware has no overhead.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import { HandlerContext } from "@effect-mcp/core/internal/handlers"
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

/** A request about to be sent. */
export interface OutboundRequest {
  readonly method: string
  /** Params in the wire format of the connection's revision. */
  readonly params: JsonRpc.Params | undefined
  /** HTTP headers for this request. Ignored by other transports. */
  readonly headers: RequestHeaders
  /** The server's name in the program's table, if the client belongs to `McpClients`. */
  readonly serverName?: string | undefined
}

/** Changes to apply to a request. Omitted fields stay unchanged. */
export interface RequestChanges {
  readonly params?: JsonRpc.Params | undefined
  /** Entries to add to `_meta` in the params. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** Headers to add to the request. */
  readonly headers?: RequestHeaders | undefined
}

/** Sends the request each time the effect runs. Returns the result in wire format. */
export type Send<R = never> = (changes?: RequestChanges) => Effect.Effect<unknown, RequestError, R>

/** A question from the server, in wire format. */
export interface ReceivedQuestion {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
  readonly revision: Revision
  readonly server: Implementation
  /** ID of the client request the question belongs to, if the transport reports it. */
  readonly relatedTo: JsonRpc.Id | undefined
  /** The server's name in the program's table, if the client belongs to `McpClients`. */
  readonly serverName?: string | undefined
}

/** Answers a question with other params, in wire format. */
export type AnswerWith<R = never> = (params: JsonRpc.Params) => Effect.Effect<unknown, McpError, R>

/** Client middleware. Both functions are optional. */
export interface Middleware<R = never> {
  /**
   * Runs around every request, including `ping`, subscriptions and the handshake (`server/discover`, `initialize`), but not for cached
   * results. The request's timeout starts when `next` sends it, so code before `next` has no time limit. If that code hangs, it blocks the
   * request or the handshake until interrupted. Use `Effect.timeout` to limit it.
   */
  readonly request?: (request: OutboundRequest, next: Send) => Effect.Effect<unknown, RequestError, R>
  /**
   * Runs around every question except `ping`, with `Requester` in its context. Returns the response in wire format. `next` answers the
   * question as it is, and `proceed` answers it with other params.
   */
  readonly question?: (
    question: ReceivedQuestion,
    next: Effect.Effect<unknown, McpError>,
    proceed: AnswerWith
  ) => Effect.Effect<unknown, McpError, R>
}

/** Middleware for the clients built in this context, outermost first. */
export class ClientMiddleware extends Context.Service<ClientMiddleware, ReadonlyArray<Middleware>>()(
  "@effect-mcp/client/ClientMiddleware"
) {}

/**
 * Provides middleware, outermost first, for the clients that receive this layer. Middleware already in the layer's own context wraps around
 * it.
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

/** Tells middleware the name of the server that its client talks to. */
export const named = ({ question, request }: Middleware, serverName: string): Middleware => ({
  ...(request && { request: (sent, next) => request({ ...sent, serverName }, next) }),
  ...(question && { question: (asked, next, proceed) => question({ ...asked, serverName }, next, proceed) })
})

/** Runs `next` in the request's context, and the middleware in its layer's context. */
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
    question: (asked, next, proceed) =>
      Effect.contextWith((ambient: Context.Context<never>) => {
        const outer = new HandlerContext<never, never>(ambient, { forwardsLogs: false })
        return context.provide(
          effectOf("ClientMiddleware", () =>
            question(asked, outer.provide(next), (params) => outer.provide(proceed(params)))
          )
        )
      })
  })
})
