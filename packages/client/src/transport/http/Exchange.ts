/**
 * One request over HTTP, from its POST to its answer: a JSON body, or an SSE body, which may need several connections.
 *
 * Ends when the answer is delivered, or fails with the reason why there is none.
 */
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { isStateless, sendable } from "./Endpoint.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import { type HttpConversation, type PostExchange, receiver } from "./HttpConversation.ts"
import type { HttpResponse } from "./HttpSender.ts"
import * as Refusal from "./Refusal.ts"
import * as RefusedExchange from "./RefusedExchange.ts"

/** Creates an exchange. `accepted` is called once. */
export const make = (
  request: JsonRpc.Request,
  headers: RequestHeaders | undefined,
  accepted: (exchange: PostExchange) => void
): PostExchange => {
  const exchange: PostExchange = {
    request,
    text: JsonRpc.encode(request),
    headers,
    stateless: isStateless(request),
    begun: false,
    session: undefined,
    answered: false,
    accept: () => {
      if (Deferred.doneUnsafe(exchange.accepted, Effect.void)) accepted(exchange)
    },
    accepted: Deferred.makeUnsafe(),
    done: Deferred.makeUnsafe(),
    fiber: undefined
  }
  return exchange
}

const streamed = Effect.fnUntraced(function* (
  conversation: HttpConversation,
  exchange: PostExchange,
  response: HttpResponse
): Effect.fn.Return<void, ExchangeFailure.ExchangeFailure> {
  const { limit, maxDepth, resume } = conversation
  const receive = receiver(conversation, exchange)
  const position = Body.start()
  const enough = Effect.andThen(Deferred.await(exchange.done), Effect.sleep(Body.skipTimeout))
  yield* Effect.raceFirst(
    Effect.mapError(Body.events(response, limit, position, receive, maxDepth), ExchangeFailure.unread),
    enough
  )
  const resumable = !exchange.answered && !exchange.stateless && position.lastEventId !== undefined
  const ended = resumable
    ? yield* Effect.raceFirst(
        resume(position, receive, () => exchange.answered),
        enough
      )
    : undefined
  if (exchange.answered) return yield* Effect.void
  if (ended === "Gone") return yield* Effect.fail(ExchangeFailure.sessionLost(false))
  return yield* Effect.fail(
    ExchangeFailure.unanswered(`The stream ended before the response${resumable ? ", and could not be resumed" : ""}`)
  )
})

/** Sends the request and delivers its answer. Fails with the reason why there is none. */
export const run = (
  conversation: HttpConversation,
  exchange: PostExchange
): Effect.Effect<void, ExchangeFailure.ExchangeFailure> => {
  const { endpoint } = conversation
  const { headers, request, text } = exchange
  exchange.begun = true
  exchange.session = exchange.stateless || request.method === "initialize" ? undefined : endpoint.session
  const answer =
    headers === undefined
      ? endpoint.post(request, text)
      : Effect.flatMap(sendable(headers), (extra) => endpoint.post(request, text, extra))
  return Effect.matchEffect(answer, {
    onFailure: (error) => {
      // Not reported as unsent, because then it would be resent.
      if (error._tag === "TransportError") return Effect.fail(ExchangeFailure.unread(error))
      return error.reason._tag === "StatusCodeError"
        ? Effect.fail(Refusal.unreachable(error, request.method, endpoint.url))
        : Effect.fail(ExchangeFailure.unreachable(error, endpoint.url))
    },
    onSuccess: (response) => begun(conversation, exchange, response)
  })
}

/** Reads a response's body as JSON or as SSE. */
const begun = (
  conversation: HttpConversation,
  exchange: PostExchange,
  response: HttpResponse
): Effect.Effect<void, ExchangeFailure.ExchangeFailure> => {
  const { headers, status } = response
  const { id, method } = exchange.request
  if (status < 200 || status >= 300) return RefusedExchange.refused(conversation, exchange, response)
  exchange.accept()
  if (method === "initialize") conversation.endpoint.session = headers["mcp-session-id"]
  if (Body.isEventStream(headers)) return streamed(conversation, exchange, response)
  return Effect.matchEffect(Body.text(response, conversation.limit, headers), {
    onFailure: (error) => Effect.fail(ExchangeFailure.unread(error)),
    onSuccess: (body) => {
      const answer = Answer.read(body, id, conversation.maxDepth)
      return answer === undefined
        ? Effect.fail(Refusal.refused({ method, url: conversation.endpoint.url, response, body }))
        : receiver(conversation, exchange)(answer)
    }
  })
}
