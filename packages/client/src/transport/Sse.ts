/**
 * A server behind HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE): deprecated since 2025-03-26, and
 * still in the field. One GET stays open for as long as the Scope, and what the server says arrives on it; what this side says is
 * POSTed, one message at a time, to the URI that the server names first.
 *
 * The end of the GET is the end of the conversation. Refuses an URI of another origin: what a user sends along (a token) is for this
 * one.
 */
import * as Framing from "@effect-mcp/core/Framing"
import * as Outbox from "@effect-mcp/core/Outbox"
import { type Inbound, type Transport, TransportError, type RequestAborted } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Body from "./http/Body.ts"
import { placeOf } from "./http/Denial.ts"
import * as Refusal from "./http/Refusal.ts"
import * as SameOrigin from "./http/SameOrigin.ts"

export interface Options extends Outbox.Options {
  /** Where the server's stream is. */
  readonly url: string | URL
  /** Sent with the GET and with every POST. */
  readonly headers?: Headers.Input | undefined
  /** How long the server may take to answer the GET and to say where to POST. Default 10 seconds. */
  readonly endpointTimeout?: Duration.Input | undefined
  /**
   * How long a message waits for the one before it to be accepted. Default 1 second: a server that only accepts a message once it has
   * handled it must not keep us from answering what it asks meanwhile.
   */
  readonly acceptTimeout?: Duration.Input | undefined
  /** How long a message may take to be accepted at all. Default 10 minutes. */
  readonly postTimeout?: Duration.Input | undefined
  /** The largest message that is read, in characters; a larger one breaks the wire. Default 4 Mi. */
  readonly maxMessageBytes?: number | undefined
  /** The deepest nesting of a message that is read; a request whose answer is deeper fails with -32600. Default 256. */
  readonly maxMessageDepth?: number | undefined
}

export type Requirements = HttpClient.HttpClient

type Events = ReadonlyArray<Sse.Event>

const tooLarge = (limit: number) =>
  new TransportError({ reason: "Overflow", message: `A message of the server is larger than ${limit} characters` })

/** The events of a body, in arrays of those that came together. */
const eventsOf = Effect.fnUntraced(function* (
  response: HttpClientResponse,
  limit: number
): Effect.fn.Return<Pull.Pull<Events, TransportError>, never, Scope.Scope> {
  let read: Array<Sse.Event> = []
  let overflown = false
  const parser = Sse.makeParser(
    (event) => {
      // The parser bounds only what it holds back: an event may have come whole.
      overflown ||= event._tag === "Event" && event.data.length > limit
      if (event._tag === "Event" && !overflown) read.push(event)
    },
    { maxEventSize: limit }
  )
  const text = yield* Stream.toPull(
    Stream.mapError(
      Stream.decodeText(response.stream),
      (cause) =>
        new TransportError({ reason: "Read", message: `The stream of the server broke: ${cause.message}`, cause })
    )
  )
  return Effect.suspend(() => {
    if (overflown) return Effect.fail(tooLarge(limit))
    return Effect.map(text, (parts) => {
      for (const part of parts) overflown = parser.feed(part) !== undefined || overflown
      const events = read
      read = []
      return events
    })
  })
})

/** What a refusal says, if that is not too much. */
const shown = (response: HttpClientResponse): Effect.Effect<string> =>
  Effect.orElseSucceed(Body.text(response, 64 * 1024), () => "")

const urlOf = (text: string | URL, base?: URL): URL | undefined =>
  URL.canParse(String(text), base?.href) ? new URL(text, base) : undefined

/** Reads up to the event that says where to POST; what came with it is left. */
const findEndpoint = Effect.fnUntraced(function* (
  events: Pull.Pull<Events, TransportError>,
  url: URL
): Effect.fn.Return<readonly [endpoint: URL, rest: Events], TransportError | Cause.Done> {
  for (;;) {
    const some = yield* events
    const at = some.findIndex(({ event }) => event === "endpoint")
    const found = some[at]
    if (found === undefined) continue
    const endpoint = urlOf(found.data, url)
    if (endpoint !== undefined && endpoint.origin === url.origin) return [endpoint, some.slice(at + 1)]
    const named = JSON.stringify(found.data.slice(0, 200))
    return yield* new TransportError({ reason: "Open", message: `Messages are not posted to another origin: ${named}` })
  }
})

const messagesOf = (events: Events, maxDepth: number | undefined): ReadonlyArray<Inbound> =>
  events.flatMap(({ data, event }) => (event === "message" ? Framing.decode(data, undefined, maxDepth) : []))

/** The method and, for a request, the id of a message that was not delivered. */
const subjectOf = (line: string): { readonly method: string; readonly id: JsonRpc.Id | undefined } => {
  const decoded = Framing.decode(line)
  if (decoded._tag !== "Message" || !("method" in decoded.message)) return { method: "an answer", id: undefined }
  const { message } = decoded
  return { method: message.method, id: JsonRpc.isRequest(message) ? message.id : undefined }
}

const silent = (url: URL) =>
  new TransportError({
    reason: "Open",
    message: `${placeOf(url)} opened a stream, but did not say where to send messages. Check that it speaks HTTP with SSE (2024-11-05).`
  })

/** Opens the stream, and reads it up to where to POST. */
const connect = Effect.fnUntraced(function* (
  answer: Effect.Effect<HttpClientResponse, TransportError, Scope.Scope>,
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

/** Connects, and waits for the server to say where to POST. Fails with reason `Status` when it answers the GET otherwise. */
export const open = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Transport, TransportError, Scope.Scope | Requirements> {
  const { headers, acceptTimeout = "1 second", postTimeout = "10 minutes" } = options
  const url = urlOf(options.url)
  if (url === undefined) {
    return yield* new TransportError({ reason: "Open", message: `Not a URL: ${JSON.stringify(options.url)}` })
  }
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  const execute = (request: HttpClientRequest.HttpClientRequest) => SameOrigin.execute(client, request)
  const scope = yield* Scope.Scope
  const stream = yield* Scope.fork(scope)
  const answer = Effect.mapError(
    execute(HttpClientRequest.get(url, { headers, accept: "text/event-stream" })),
    (error) => Refusal.unreachable(error, "GET", url).error
  )
  const limit = options.maxMessageBytes ?? Framing.defaultMaxMessageBytes
  const { endpoint, events, rest } = yield* connect(answer, url, limit).pipe(
    Effect.timeoutOrElse({
      duration: options.endpointTimeout ?? "10 seconds",
      orElse: () => Effect.fail(silent(url))
    }),
    Scope.provide(stream),
    Effect.onError((cause) => Scope.close(stream, Exit.failCause(cause)))
  )

  const failures = yield* Queue.unbounded<RequestAborted, TransportError>()
  const undelivered = (line: string, { error, unsent }: Refusal.ExchangeFailure): Effect.Effect<void> => {
    const { id } = subjectOf(line)
    if (id !== undefined) Queue.offerUnsafe(failures, { _tag: "RequestAborted", id, error, unsent })
    if (error.reason === "SessionLost") Queue.failCauseUnsafe(failures, Cause.fail(error))
    return id === undefined ? Effect.logWarning(`A message was not delivered: ${error.message}`) : Effect.void
  }
  const post = (line: string): Effect.Effect<void> =>
    execute(HttpClientRequest.bodyText(HttpClientRequest.post(endpoint, { headers }), line, "application/json")).pipe(
      Effect.mapError((error) => Refusal.unreachable(error, subjectOf(line).method, endpoint)),
      Effect.flatMap((response) => {
        const { status } = response
        if (status >= 200 && status < 300) return Body.skip(response)
        if (status === 404) return Effect.fail(Refusal.sessionLost(true))
        return Effect.flatMap(shown(response), (body) =>
          Effect.fail(Refusal.refused({ method: subjectOf(line).method, url: endpoint, response, body }))
        )
      }),
      Effect.timeoutOrElse({
        duration: postTimeout,
        orElse: () => Effect.fail(Refusal.unanswered("The message was not accepted in time"))
      }),
      Effect.scoped,
      Effect.catchCause((cause) =>
        undelivered(
          line,
          Option.getOrElse(Cause.findErrorOption(cause), () => Refusal.unanswered(Cause.pretty(cause)))
        )
      )
    )
  // Made before the outbox, so that what it still writes when the scope closes is sent.
  const posts = yield* Scope.fork(scope, "parallel")
  const deliver = (line: string) =>
    Effect.flatMap(Effect.forkIn(post(line), posts, { startImmediately: true }), (fiber) =>
      Effect.timeoutOption(Fiber.await(fiber), acceptTimeout)
    )
  const outbox = yield* Outbox.make(
    Stream.runForEach((turn) => Effect.forEach(turn.split("\n").slice(0, -1), deliver, { discard: true })),
    options
  )
  const messages = Stream.concat(
    Stream.fromIterable(messagesOf(rest, options.maxMessageDepth)),
    Stream.flattenIterable(
      Stream.fromPull(
        Effect.succeed(Effect.map(events, (some) => [messagesOf(some, options.maxMessageDepth)] as const))
      )
    )
  )
  return {
    incoming: Stream.merge(messages, Stream.fromQueue(failures), { haltStrategy: "left" }).pipe(
      // A wire that has broken leaves no stream open that nobody reads.
      Stream.tapError(() => Scope.close(stream, Exit.void))
    ),
    sink: outbox.sink,
    broken: outbox.broken,
    address: placeOf(url)
  }
})
