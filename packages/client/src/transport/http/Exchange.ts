/**
 * One request over HTTP, from its POST to its answer: a JSON body, or an SSE body, which may need several connections.
 *
 * Ends when the answer is delivered, or fails with the reason for which there is none.
 */
import type { Decoded, RequestHeaders, Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Answered } from "./Denial.ts"
import { type RemoteEndpoint, isStateless, sendable } from "./Endpoint.ts"
import type { StreamEnd, ResumeStream } from "./ResumeStream.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import type { HttpFailure, HttpResponse } from "./HttpSender.ts"

/** What is learned of a server: its era, or the transport of an older server. */
export type Learned = "stateless" | "older" | "streamable" | "sse"

/** What an exchange needs whose response is no answer. */
interface RareExchange {
  readonly refusedExchange: (
    conversation: HttpConversation,
    exchange: PostExchange,
    response: HttpResponse
  ) => Effect.Effect<void, ExchangeFailure.ExchangeFailure>
  readonly refused: (answered: Answered) => ExchangeFailure.ExchangeFailure
  readonly unreachable: (error: HttpFailure, method: string, url: URL) => ExchangeFailure.ExchangeFailure
}

/** What all exchanges of a transport share. */
export interface HttpConversation {
  readonly endpoint: RemoteEndpoint
  /** Resumes the stream of a request in a session. */
  readonly resume: (
    ...options: Parameters<ResumeStream["resume"]>
  ) => Effect.Effect<StreamEnd, ExchangeFailure.ExchangeFailure>
  /** The largest message that is read, in bytes. */
  readonly limit: number
  /** The deepest nesting of a message that is read. */
  readonly maxDepth: number | undefined
  /** Loads what the exchange needs; `unused` runs where that fails or is interrupted. */
  readonly withRare: <A>(
    use: (parts: RareExchange) => Effect.Effect<A, ExchangeFailure.ExchangeFailure>,
    unused?: Effect.Effect<void>
  ) => Effect.Effect<A, ExchangeFailure.ExchangeFailure>
  readonly deliver: (message: Decoded) => Effect.Effect<void>
  readonly learned: (what: Learned) => void
  /** The older transport at the same URL, for a server that refuses `initialize`; `handOver` is called with it. */
  readonly fallback: Effect.Effect<Transport, TransportError> | undefined
  readonly handOver: (transport: Transport, request: JsonRpc.Request) => void
}

export interface PostExchange {
  readonly request: JsonRpc.Request
  readonly text: string
  readonly headers: RequestHeaders | undefined
  readonly stateless: boolean
  /** Whether the request may have been sent, and in which session. */
  begun: boolean
  session: string | undefined
  answered: boolean
  /** Called when the response has begun, or none will. */
  readonly accept: () => void
  /** Completes with `accept`. */
  readonly accepted: Deferred.Deferred<void>
  /** Completes when the request is answered. */
  readonly done: Deferred.Deferred<void>
  fiber: Fiber.Fiber<void> | undefined
}

/** `accepted` is called once. */
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

/** Marks a message of an exchange as related to its request. */
const related = (message: Decoded, id: JsonRpc.Id): Decoded =>
  message._tag === "Message" ? { ...message, envelope: { ...message.envelope, relatedTo: id } } : message

/** Delivers the messages of an exchange. `telling`: whether the answer tells the server's era. */
export const receiver =
  ({ deliver, endpoint, learned }: HttpConversation, exchange: PostExchange, telling = true) =>
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
    ExchangeFailure.unanswered(`The stream ended before the answer${resumable ? ", and could not be resumed" : ""}`)
  )
})

/** Sends the request, and delivers its answer. Fails with the reason for which there is none. */
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
      // Not as unsent: that would be sent again.
      if (error._tag === "TransportError") return Effect.fail(ExchangeFailure.unread(error))
      return error.reason._tag === "StatusCodeError"
        ? conversation.withRare(({ unreachable }) => Effect.fail(unreachable(error, request.method, endpoint.url)))
        : Effect.fail(ExchangeFailure.unreachable(error, endpoint.url))
    },
    onSuccess: (response) => begun(conversation, exchange, response)
  })
}

/** Reads the body of a response as JSON or as SSE. */
const begun = (
  conversation: HttpConversation,
  exchange: PostExchange,
  response: HttpResponse
): Effect.Effect<void, ExchangeFailure.ExchangeFailure> => {
  const { headers, status } = response
  const { id, method } = exchange.request
  if (status < 200 || status >= 300) {
    const refused = (parts: RareExchange) => parts.refusedExchange(conversation, exchange, response)
    // A body that nothing reads keeps its connection.
    return conversation.withRare(refused, Body.skip(response, 0))
  }
  exchange.accept()
  if (method === "initialize") conversation.endpoint.session = headers["mcp-session-id"]
  if (Body.isEventStream(headers)) return streamed(conversation, exchange, response)
  return Effect.matchEffect(Body.text(response, conversation.limit, headers), {
    onFailure: (error) => Effect.fail(ExchangeFailure.unread(error)),
    onSuccess: (body) => {
      const answer = Answer.read(body, id, conversation.maxDepth)
      return answer === undefined
        ? conversation.withRare(({ refused }) =>
            Effect.fail(refused({ method, url: conversation.endpoint.url, response, body }))
          )
        : receiver(conversation, exchange)(answer)
    }
  })
}
