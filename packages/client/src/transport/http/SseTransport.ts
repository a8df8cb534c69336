/**
 * HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26.
 *
 * One GET, open until the scope closes, carries the server's messages. When it ends, the conversation ends. The client POSTs its messages
 * to the URI that the server sends first. A URI with a different origin is rejected, because it must not receive the user's token.
 */
import { textOf } from "@effect-mcp/core/internal/calling"
import * as Framing from "@effect-mcp/core/Framing"
import * as Outbox from "@effect-mcp/core/Outbox"
import {
  type Inbound,
  type RequestAborted,
  type RequestHeaders,
  type Transport,
  TransportError
} from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Body from "./Body.ts"
import { type HeadersOption, parse, placeOf, sendable } from "./Endpoint.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import * as Refusal from "./Refusal.ts"
import * as SameOrigin from "./SameOrigin.ts"
import type { HttpFailure, HttpResponse, HttpSender } from "./HttpSender.ts"

export interface Options extends Outbox.Options {
  /** URL of the server's stream. */
  readonly url: string | URL
  /** How long the server may take to answer the GET and to name the URI for POSTs. Default 10 seconds. */
  readonly endpointTimeout?: Duration.Input | undefined
  /**
   * How long a message waits for the previous one to be accepted. Default 1 second: a server may accept a request only after handling it,
   * and its questions must be answered meanwhile.
   */
  readonly acceptTimeout?: Duration.Input | undefined
  /** Time limit for a message to be accepted. Default 10 minutes. */
  readonly postTimeout?: Duration.Input | undefined
  /** Maximum size of a message to read, in characters. A larger one breaks the connection. Default 16 Mi. */
  readonly maxMessageBytes?: number | undefined
  /** Maximum nesting depth of a message to read. A request whose answer is nested deeper fails with -32600. Default 256. */
  readonly maxMessageDepth?: number | undefined
}

type Events = ReadonlyArray<Sse.Event>

const tooLarge = (limit: number) =>
  new TransportError({
    reason: "Overflow",
    message: `A message from the server is larger than ${limit} characters. Raise the transport's maxMessageBytes`
  })

/** Reads the events of a body, in arrays of events that arrived together. */
const eventsOf = Effect.fnUntraced(function* (
  response: HttpResponse,
  limit: number
): Effect.fn.Return<Pull.Pull<Events, TransportError>, never, Scope.Scope> {
  let read: Array<Sse.Event> = []
  let overflown = false
  const parser = Sse.makeParser(
    (event) => {
      // The parser only limits incomplete events.
      overflown ||= event._tag === "Event" && event.data.length > limit
      if (event._tag === "Event" && !overflown) read.push(event)
    },
    { maxEventSize: limit }
  )
  const decoder = new TextDecoder()
  // A single reader does not need `Stream.toPull`, whose semaphore every HTTP client would load at startup.
  const pieces = yield* Channel.toPullScoped(Stream.toChannel(response.stream), yield* Effect.scope)
  const text = Effect.catchIf(
    pieces,
    (error): error is HttpFailure => !Cause.isDone(error),
    (cause) =>
      Effect.fail(new TransportError({ reason: "Read", message: `The server's stream broke: ${cause.message}`, cause }))
  )
  return Effect.suspend(() => {
    if (overflown) return Effect.fail(tooLarge(limit))
    return Effect.map(text, (parts) => {
      for (const part of parts)
        overflown = parser.feed(decoder.decode(part, { stream: true })) !== undefined || overflown
      const events = read
      read = []
      return events
    })
  })
})

/** Reads the body of a rejection. Returns an empty text if it is too large. */
const shown = (response: HttpResponse): Effect.Effect<string> =>
  Effect.orElseSucceed(Body.text(response, 64 * 1024), () => "")

/** Reads up to the event that contains the URI for POSTs. Returns the events that arrived with it. */
const findEndpoint = Effect.fnUntraced(function* (
  events: Pull.Pull<Events, TransportError>,
  url: URL
): Effect.fn.Return<readonly [endpoint: URL, rest: Events], TransportError | Cause.Done> {
  for (;;) {
    const some = yield* events
    const at = some.findIndex(({ event }) => event === "endpoint")
    const found = some[at]
    if (found === undefined) continue
    const endpoint = URL.canParse(found.data, url.href) ? new URL(found.data, url) : undefined
    if (endpoint !== undefined && endpoint.origin === url.origin) return [endpoint, some.slice(at + 1)]
    const named = JSON.stringify(found.data.slice(0, 200))
    return yield* new TransportError({
      reason: "Open",
      message: `Refusing to send messages to a different origin: ${named}`
    })
  }
})

const messagesOf = (events: Events, maxDepth: number | undefined): ReadonlyArray<Inbound> =>
  events.flatMap(({ data, event }) => (event === "message" ? Framing.decode(data, undefined, maxDepth) : []))

/** Returns the method and, for a request, the id of a message that was not delivered. */
const subjectOf = (line: string): { readonly method: string; readonly id: JsonRpc.Id | undefined } => {
  const decoded = Framing.decode(line)
  if (decoded._tag !== "Message" || !("method" in decoded.message)) return { method: "an answer", id: undefined }
  const { message } = decoded
  return { method: message.method, id: JsonRpc.isRequest(message) ? message.id : undefined }
}

const silent = (url: URL) =>
  new TransportError({
    reason: "Open",
    message: `${placeOf(url)} opened a stream but did not announce where to send messages. Check that it supports HTTP with SSE (2024-11-05).`
  })

/** Opens the stream and reads up to the URI for POSTs. */
const connect = Effect.fnUntraced(function* (
  answer: Effect.Effect<HttpResponse, TransportError>,
  url: URL,
  limit: number
) {
  const response = yield* answer
  if (response.status !== 200 || !Body.isEventStream(response.headers)) {
    return yield* Effect.flatMap(
      shown(response),
      (body) => Refusal.refused({ method: "GET", url, response, body }).error
    )
  }
  const events = yield* eventsOf(response, limit)
  const [endpoint, rest] = yield* Pull.catchDone(findEndpoint(events, url), () => Effect.fail(silent(url)))
  return { events, endpoint, rest }
})

interface Posting {
  readonly send: HttpSender
  readonly endpoint: URL
  readonly headers: RequestHeaders
  readonly timeout: Duration.Input
}

/** Posts one message. Fails with the reason why the server has not accepted it. */
const post = (
  { endpoint, headers, send, timeout }: Posting,
  line: string
): Effect.Effect<void, ExchangeFailure.ExchangeFailure> =>
  SameOrigin.follow(send, {
    method: "POST",
    url: endpoint,
    headers: { ...headers, "content-type": "application/json" },
    body: line
  }).pipe(
    Effect.mapError((error) => Refusal.unreachable(error, subjectOf(line).method, endpoint)),
    Effect.flatMap((response) => {
      const { status } = response
      if (status >= 200 && status < 300) return Body.skip(response)
      if (status === 404) return Effect.andThen(Body.skip(response), Effect.fail(ExchangeFailure.sessionLost(true)))
      return Effect.flatMap(shown(response), (body) =>
        Effect.fail(Refusal.refused({ method: subjectOf(line).method, url: endpoint, response, body }))
      )
    }),
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => Effect.fail(ExchangeFailure.unanswered("Timed out while sending a message"))
    })
  )

/** Reports an undelivered message to whoever is waiting for it. A request is aborted; a lost session ends the transport. */
const report = (
  failures: Queue.Queue<RequestAborted, TransportError>,
  line: string,
  cause: Cause.Cause<ExchangeFailure.ExchangeFailure>
): Effect.Effect<void> => {
  const { id } = subjectOf(line)
  const { error, unsent } = Option.getOrElse(Cause.findErrorOption(cause), () =>
    ExchangeFailure.unanswered(textOf(cause))
  )
  if (id !== undefined) Queue.offerUnsafe(failures, { _tag: "RequestAborted", id, error, unsent })
  if (error.reason === "SessionLost") Queue.failCauseUnsafe(failures, Cause.fail(error))
  return id === undefined ? Effect.logWarning(`A message was not delivered: ${error.message}`) : Effect.void
}

/**
 * Opens a transport until the scope closes. Waits for the server to name the URI for POSTs. `given` are the headers for the GET and for
 * every POST.
 */
export const open = Effect.fnUntraced(function* (
  send: HttpSender,
  options: Options,
  given: HeadersOption
): Effect.fn.Return<Transport, TransportError, Scope.Scope> {
  const { acceptTimeout = "1 second", maxMessageDepth, postTimeout: timeout = "10 minutes" } = options
  const url = yield* parse(options.url)
  const headers = yield* sendable(given)
  const scope = yield* Scope.Scope
  const stream = yield* Scope.fork(scope)
  const answer = Effect.mapError(
    SameOrigin.follow(send, { method: "GET", url, headers: { ...headers, accept: "text/event-stream" } }),
    (error) => Refusal.unreachable(error, "GET", url).error
  )
  const limit = options.maxMessageBytes ?? Framing.defaultMaxAnswerBytes
  const { endpoint, events, rest } = yield* connect(answer, url, limit).pipe(
    Effect.timeoutOrElse({
      duration: options.endpointTimeout ?? "10 seconds",
      orElse: () => Effect.fail(silent(url))
    }),
    Scope.provide(stream),
    Effect.onError((cause) => Scope.close(stream, Exit.failCause(cause)))
  )

  const failures = yield* Queue.unbounded<RequestAborted, TransportError>()
  const posting: Posting = { send, endpoint, headers, timeout }
  // Created before the outbox, so that messages it still writes when the scope closes are sent.
  const posts = yield* Scope.fork(scope, "parallel")
  const deliver = (line: string) =>
    Effect.catchCause(post(posting, line), (cause) => report(failures, line, cause)).pipe(
      Effect.forkIn(posts, { startImmediately: true }),
      Effect.flatMap((fiber) => Effect.timeoutOption(Fiber.await(fiber), acceptTimeout))
    )
  const outbox = yield* Outbox.make(
    Stream.runForEach((turn) => Effect.forEach(turn.split("\n").slice(0, -1), deliver, { discard: true })),
    options
  )
  const messages = yield* Queue.bounded<Inbound, TransportError | Cause.Done>(256)
  const reading = (arrived: Events): Effect.Effect<never, TransportError | Cause.Done> =>
    Effect.andThen(Queue.offerAll(messages, messagesOf(arrived, maxMessageDepth)), Effect.flatMap(events, reading))
  // The scope may close before the fiber starts.
  yield* Scope.addFinalizer(stream, Queue.end(messages))
  // A separate fiber reads the GET, so that ending the reader of `incoming` does not hang up before the last messages are posted.
  yield* Effect.forkIn(
    Effect.catchCause(reading(rest), (cause) => Queue.failCause(messages, cause)),
    stream
  )
  const incoming = Stream.merge(Stream.fromQueue(messages), Stream.fromQueue(failures), { haltStrategy: "left" })
  return {
    // Does not keep the GET open for a transport that has failed.
    incoming: Stream.onError(incoming, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Scope.close(stream, Exit.void)
    ),
    sink: outbox.sink,
    broken: outbox.broken,
    address: placeOf(url)
  }
})
