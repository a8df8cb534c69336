/** Answers requests of other nodes, whose sessions are held here. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { McpServer } from "../../dispatch/Server.ts"
import { RelayError, type RelayedRequest, type RelayedResponse, type RelayEndpoint } from "../../session/Nodes.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"
import type { InFlightRequests } from "../request/InFlightRequests.ts"

export interface Options {
  readonly server: Pick<McpServer["Service"], "name">
  /** Whether the session of a request is to be answered here, or the error response where it should be and cannot. */
  readonly find: (http: HttpRequest, session: string) => Effect.Effect<boolean | HttpServerResponse>
  readonly exchanges: InFlightRequests
  readonly answer: (
    http: HttpRequest,
    body: Uint8Array | "Gone",
    exchange: HttpExchange
  ) => Effect.Effect<HttpServerResponse>
}

const notHere = new RelayError({ reason: "NotSent", message: "The session is not held here" })

const streamOf = (body: HttpBody.HttpBody): Stream.Stream<Uint8Array> => {
  if (body._tag === "Uint8Array") return Stream.succeed(body.body)
  return body._tag === "Stream" ? Stream.orDie(body.stream) : Stream.empty
}

export const relayEndpoint = ({ answer, exchanges, find, server }: Options): RelayEndpoint => ({
  server: server.name,
  answer: (request: RelayedRequest): Effect.Effect<RelayedResponse, RelayError, Scope.Scope> => {
    const { address, body, headers, method, principal, url } = request
    const http: HttpRequest = { method, headers, originalUrl: url, principal, address, span: undefined }
    return Effect.flatMap(find(http, request.session), (isHere) => {
      if (isHere === false) return Effect.fail(notHere)
      const over = Deferred.makeUnsafe<void>()
      const cut = () => Deferred.doneUnsafe(over, Effect.void)
      const exchange = method === "POST" ? exchanges.enter(cut, http) : exchanges.open(cut)
      // The response is read after it is there, so that its exchange lasts as long as the scope.
      const ended = Effect.addFinalizer(() => Effect.sync(() => exchanges.leave(exchange)))
      const answered = Effect.suspend(() =>
        isHere === true ? answer(http, body ?? "Gone", exchange) : Effect.succeed(isHere)
      )
      return Effect.map(Effect.andThen(ended, answered), ({ body, headers, status }) => ({
        status,
        headers,
        body: Stream.interruptWhen(streamOf(body), Deferred.await(over))
      }))
    })
  }
})
