/** Runs a client's middleware around the requests it sends and the questions it answers. */
import type { Peer, RequestError } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { withMeta } from "@effect-mcp/protocol/model/Meta"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Closed, sent } from "../ClientError.ts"
import type { Refused } from "../answering/RefusedQuestion.ts"
import { Requester } from "../answering/Requester.ts"
import { requester } from "../answering/ServerRequests.ts"
import type { Middleware, OutboundRequest, RequestChanges } from "./ClientMiddleware.ts"
import type { AnswerQuestion } from "./ClientHost.ts"

/** Applies changes to a request. */
const changed = ({ headers, method, params }: OutboundRequest, changes: RequestChanges = {}): OutboundRequest => {
  const given = changes.params ?? params
  return {
    method,
    params: changes.meta === undefined ? given : withMeta(given ?? {}, changes.meta),
    headers: changes.headers === undefined ? headers : { ...headers, ...changes.headers }
  }
}

const isUnsent = (error: unknown): error is Closed => error instanceof Closed && error.unsent === true

/** Tracks the attempts to send one request. The request no longer counts as unsent once the server may have acted on any attempt. */
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

  /** Adjusts the failure so that it holds for all attempts. */
  failure<A>(request: Effect.Effect<A, RequestError>): Effect.Effect<A, RequestError> {
    return Effect.mapError(request, (error) => (this.reached && isUnsent(error) ? sent(error) : error))
  }
}

/** Wraps the peer so that middleware runs around each request it sends. */
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

/** Wraps the function that answers questions with the middleware. */
export const aroundAnswers = (answer: AnswerQuestion, all: ReadonlyArray<Middleware>): AnswerQuestion => {
  const around = all.flatMap(({ question }) => question ?? [])
  if (around.length === 0) return answer
  return (request, conversation) =>
    Effect.suspend(() => {
      const { method, params } = request
      const { relatedTo, revision, server } = conversation
      // To middleware, a question the server may not ask fails like any other question.
      let refused: Refused | undefined
      type Answering = (params: JsonRpc.Params | undefined) => Effect.Effect<unknown, McpError>
      const answered: Answering = (params) =>
        Effect.catchTag(answer({ ...request, params }, conversation), "Refused", (error) => {
          refused = error
          return Effect.fail(error.error)
        })
      const run = around.reduceRight<Answering>(
        (inner, middleware) => (params) =>
          middleware(
            { method, params, relatedTo, revision, server },
            Effect.suspend(() => inner(params)),
            inner
          ),
        answered
      )
      return Effect.mapError(
        Effect.provideService(run(params), Requester, requester(request, conversation)),
        (error): McpError | Refused => (refused?.error === error ? refused : error)
      )
    })
}
