/** Handles requests from other nodes for the sessions that are held here. */
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as HttpBody from "effect/http/HttpBody"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { RelayError, type RelayedRequest, type RelayedResponse, type RelayEndpoint } from "@effect-mcp/server/Nodes"
import type { HttpRequest, ManagedEndpoint } from "@effect-mcp/server/internal/sharing"

type Answer = ReturnType<RelayEndpoint["answer"]>

/** Returns whether to handle a session's request here, or the error response if it should be handled here but can't be. */
type Find = (http: HttpRequest, session: string) => Effect.Effect<boolean | HttpServerResponse>

const notHere = Effect.fail(new RelayError({ reason: "NotSent", message: "This node does not hold the session" }))

const wholeOf = (body: HttpBody.HttpBody): string | Uint8Array =>
  body._tag === "Uint8Array" ? (body.text ?? body.body) : ""

const relayed = ({ body, headers, status }: HttpServerResponse): RelayedResponse => ({
  status,
  headers,
  body: wholeOf(body)
})

/** Handles a request asynchronously. Its exchange lasts until the scope closes, because reading the response may take a long time. */
const later = (
  answered: Effect.Effect<HttpServerResponse>,
  over: Deferred.Deferred<void>,
  leave: Effect.Effect<void>
): Effect.Effect<RelayedResponse, never, Scope.Scope> =>
  Effect.andThen(
    Effect.addFinalizer(() => leave),
    Effect.map(answered, (response): RelayedResponse => {
      const { body } = response
      if (body._tag !== "Stream") return relayed(response)
      return { ...relayed(response), body: Stream.interruptWhen(Stream.orDie(body.stream), Deferred.await(over)) }
    })
  )

export const relayEndpoint = ({ exchanges, other, post, server }: ManagedEndpoint, find: Find): RelayEndpoint => {
  const answered = (http: HttpRequest, body: Uint8Array | undefined): Answer => {
    const over = Deferred.makeUnsafe<void>()
    const cut = () => Deferred.doneUnsafe(over, Effect.void)
    const isPost = http.method === "POST"
    const exchange = isPost ? exchanges.enter(cut, http) : exchanges.open(cut, http)
    const answering = attempt(() => (isPost ? post(http, body ?? "Gone", exchange) : other(http, exchange)))
    const done = exitOf(answering)
    if (done === undefined || !Exit.isSuccess(done) || done.value.body._tag === "Stream") {
      return later(
        answering,
        over,
        Effect.sync(() => exchanges.leave(exchange))
      )
    }
    exchanges.leave(exchange)
    return Effect.succeed(relayed(done.value))
  }
  return {
    server: server.name,
    answer: (request: RelayedRequest): Answer => {
      const { address, body, headers, method, principal, session, url } = request
      const http: HttpRequest = { method, headers, originalUrl: url, principal, address, span: undefined }
      const found = find(http, session)
      const known = exitOf(found)
      if (known !== undefined && Exit.isSuccess(known) && known.value === true) return answered(http, body)
      return Effect.flatMap(found, (isHere) => {
        if (isHere === false) return notHere
        return isHere === true ? answered(http, body) : Effect.succeed(relayed(isHere))
      })
    }
  }
}
