/**
 * One request of ours over HTTP, from its POST to its answer: a JSON body, or a stream of events that may need several connections.
 *
 * Ends in one of two ways, both as soon as possible: the answer was delivered, or it says why none will be.
 */
import type { Decoded, RequestHeaders, Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { type Endpoint, isStateless } from "./Endpoint.ts"
import type { Reconnect } from "./Reconnect.ts"
import * as Refusal from "./Refusal.ts"

/** What a server turned out to be: of the new era or not, and how it speaks the older one. */
export type Learned = "stateless" | "older" | "streamable" | "sse"

/** What exchanges share. */
export interface Conversation {
  readonly endpoint: Endpoint
  readonly reconnect: Reconnect
  /** The largest message that is read, in bytes. */
  readonly limit: number
  readonly deliver: (message: Decoded) => Effect.Effect<void>
  readonly learned: (what: Learned) => void
  /** The older transport at the same URL, for a server that refuses `initialize`; and what to do once it is there. */
  readonly fallback: Effect.Effect<Transport, TransportError> | undefined
  readonly handOver: (transport: Transport, request: JsonRpc.Request) => void
}

export interface Exchange {
  readonly request: JsonRpc.Request
  readonly text: string
  readonly headers: RequestHeaders | undefined
  readonly stateless: boolean
  /** Whether it may have left, and in which session. */
  begun: boolean
  session: string | undefined
  answered: boolean
  /** Called when the server has begun to answer, or when it never will. */
  readonly accept: () => void
  /** Done by then. */
  readonly accepted: Deferred.Deferred<void>
  /** Done when it was answered. */
  readonly done: Deferred.Deferred<void>
  fiber: Fiber.Fiber<void> | undefined
}

/** `accepted` is called once. */
export const make = (
  request: JsonRpc.Request,
  headers: RequestHeaders | undefined,
  accepted: (exchange: Exchange) => void
): Exchange => {
  const exchange: Exchange = {
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

/** What else comes in an exchange belongs to its request. */
const related = (message: Decoded, id: JsonRpc.Id): Decoded =>
  message._tag === "Message" ? { ...message, envelope: { ...message.envelope, relatedTo: id } } : message

/** Takes what arrives in the exchange, over whatever connection. `telling`: whether what it says of its era is to be trusted. */
const receiver =
  ({ deliver, endpoint, learned }: Conversation, exchange: Exchange, telling = true) =>
  (message: Decoded): Effect.Effect<void> => {
    const { id, method } = exchange.request
    if (!Answer.answers(message, id)) return deliver(related(message, id))
    exchange.answered = true
    Deferred.doneUnsafe(exchange.done, Effect.void)
    const version = method === "initialize" ? Answer.agreedOn(message) : undefined
    if (version !== undefined) {
      endpoint.version = version
      learned("streamable")
    } else if (telling && method === "server/discover") learned(Answer.succeeds(message) ? "stateless" : "older")
    return deliver(message)
  }

const streamed = Effect.fnUntraced(function* (
  conversation: Conversation,
  exchange: Exchange,
  response: HttpClientResponse
): Effect.fn.Return<void, Refusal.Refusal> {
  const { limit, reconnect } = conversation
  const receive = receiver(conversation, exchange)
  const position = Body.start()
  const enough = Effect.andThen(Deferred.await(exchange.done), Effect.sleep(Body.patience))
  yield* Effect.raceFirst(Effect.mapError(Body.events(response, limit, position, receive), Refusal.unread), enough)
  const resumable = !exchange.answered && !exchange.stateless && position.lastEventId !== undefined
  const ended = resumable
    ? yield* Effect.raceFirst(
        reconnect.resume(position, receive, () => exchange.answered),
        enough
      )
    : undefined
  if (exchange.answered) return yield* Effect.void
  if (ended === "Gone") return yield* Effect.fail(Refusal.sessionLost(false))
  return yield* Effect.fail(
    Refusal.unanswered(`The stream ended before the answer${resumable ? ", and could not be resumed" : ""}`)
  )
})

/** Fails with what the request is told instead of an answer. */
export const run = Effect.fnUntraced(function* (
  conversation: Conversation,
  exchange: Exchange
): Effect.fn.Return<void, Refusal.Refusal> {
  const { endpoint, fallback, limit } = conversation
  const { headers, request, text } = exchange
  const { id, method } = request
  exchange.begun = true
  exchange.session = exchange.stateless || method === "initialize" ? undefined : endpoint.session
  const response = yield* Effect.mapError(endpoint.post(request, text, headers), (error) =>
    Refusal.unreachable(error, endpoint.url)
  )
  const { status } = response
  if (status === 404 && exchange.session !== undefined) {
    yield* Body.skip(response)
    return yield* Effect.fail(Refusal.sessionLost(true))
  }
  exchange.accept()
  const accepted = status >= 200 && status < 300
  if (accepted && method === "initialize") endpoint.session = response.headers["mcp-session-id"]
  if (accepted && Body.isEventStream(response)) return yield* streamed(conversation, exchange, response)
  const body = yield* Effect.mapError(Body.text(response, limit), Refusal.unread)
  // Who has no time to look at the probe says nothing by that.
  const probe = method === "server/discover" && Answer.isBusy(status)
  const answer = accepted ? Answer.read(body, id) : probe ? undefined : Answer.readError(status, body, id)
  if (method === "initialize" && fallback !== undefined && Answer.isOlder(status, answer)) {
    const older = yield* Effect.option(fallback)
    if (Option.isSome(older)) return conversation.handOver(older.value, request)
  }
  if (answer !== undefined) {
    return yield* receiver(conversation, exchange, accepted || Answer.isForeign(status))(answer)
  }
  if (method === "server/discover" && Answer.isForeign(status)) conversation.learned("older")
  return yield* Effect.fail(Refusal.refused(method, status, body))
})
