/**
 * Code around every request that a client sends, and around every question of a server that it answers: logging, retry, caching,
 * credentials, metrics.
 *
 * It sees messages as they are on the wire, so each try and each round of a request passes it, and the handshake too. A client that is
 * built without it has none of this on its way.
 */
import { HandlerContext } from "@effect-mcp/core/internal/HandlerContext"
import type { Peer, RequestError } from "@effect-mcp/core/Peer"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { withMeta } from "@effect-mcp/protocol/model/Meta"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Closed, sent } from "../ClientError.ts"
import { Requester } from "../answering/Requester.ts"
import { type QuestionContext, type Refused, requester } from "../answering/ServerRequests.ts"

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
        return context.provide(Effect.suspend(() => request(sent, (changes) => outer.provide(next(changes)))))
      })
  }),
  ...(question && {
    question: (asked, next) =>
      Effect.contextWith((ambient: Context.Context<never>) => {
        const outer = new HandlerContext<never, never>(ambient, { forwardsLogs: false })
        return context.provide(Effect.suspend(() => question(asked, outer.provide(next))))
      })
  })
})

/** The request with the changes. */
const changed = ({ headers, method, params }: OutboundRequest, changes: RequestChanges = {}): OutboundRequest => {
  const given = changes.params ?? params
  return {
    method,
    params: changes.meta === undefined ? given : withMeta(given ?? {}, changes.meta),
    headers: changes.headers === undefined ? headers : { ...headers, ...changes.headers }
  }
}

const isUnsent = (error: unknown): error is Closed => error instanceof Closed && error.unsent === true

/** The tries of one request: it is not unsent where the server may have acted on an earlier one. */
class Tries {
  private reached = false

  count<A>(sending: Effect.Effect<A, RequestError>): Effect.Effect<A, RequestError> {
    return Effect.onExit(sending, (exit) =>
      Effect.sync(() => {
        const isOut =
          Exit.isSuccess(exit) || !exit.cause.reasons.filter(Cause.isFailReason).some(({ error }) => isUnsent(error))
        if (isOut) this.reached = true
      })
    )
  }

  /** With the failure that is true of all tries. */
  failure<A>(request: Effect.Effect<A, RequestError>): Effect.Effect<A, RequestError> {
    return Effect.mapError(request, (error) => (this.reached && isUnsent(error) ? sent(error) : error))
  }
}

/** The peer, with the middleware around the requests that it sends. */
export const aroundPeer = (peer: Peer, all: ReadonlyArray<Middleware>): Peer => {
  const around = all.flatMap(({ request }) => request ?? [])
  if (around.length === 0) return peer
  return {
    receive: (inbound, sink) => peer.receive(inbound, sink),
    request: (method, params, options) =>
      Effect.suspend(() => {
        const tries = new Tries()
        const send = (request: OutboundRequest): Effect.Effect<unknown, RequestError> =>
          tries.count(peer.request(method, request.params, { ...options, headers: request.headers }))
        const run = around.reduceRight<typeof send>(
          (inner, middleware) => (request) => middleware(request, (changes) => inner(changed(request, changes))),
          send
        )
        return tries.failure(run({ method, params, headers: options?.headers ?? {} }))
      }),
    notify: (method, params, relatedTo) => peer.notify(method, params, relatedTo),
    sink: peer.sink,
    watch: (watcher) => peer.watch(watcher),
    inFlight: peer.inFlight,
    open: () => peer.open(),
    sent: () => peer.sent(),
    giveUp: (id, reason) => peer.giveUp(id, reason),
    outstanding: () => peer.outstanding(),
    interrupt: (reason, id) => peer.interrupt(reason, id),
    end: () => peer.end(),
    abort: (error) => peer.abort(error),
    idle: peer.idle,
    subscriptionsEnded: peer.subscriptionsEnded,
    awaitClosed: peer.awaitClosed
  }
}

type Answer = (request: JsonRpc.Request, conversation: QuestionContext) => Effect.Effect<unknown, McpError | Refused>

/** The answers to questions, with the middleware around them. */
export const aroundAnswers = (answer: Answer, all: ReadonlyArray<Middleware>): Answer => {
  const around = all.flatMap(({ question }) => question ?? [])
  if (around.length === 0) return answer
  return (request, conversation) =>
    Effect.suspend(() => {
      const { method, params } = request
      const { relatedTo, revision, server } = conversation
      // For middleware a question that the server may not ask fails like any other.
      let refused: Refused | undefined
      const answered: Effect.Effect<unknown, McpError> = Effect.catchTag(
        answer(request, conversation),
        "Refused",
        (error) => {
          refused = error
          return Effect.fail(error.error)
        }
      )
      const question = { method, params, relatedTo, revision, server }
      const run = around.reduceRight((next, middleware) => middleware(question, next), answered)
      return Effect.mapError(
        Effect.provideService(run, Requester, requester(request, conversation)),
        (error): McpError | Refused => (refused?.error === error ? refused : error)
      )
    })
}
