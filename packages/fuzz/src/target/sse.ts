/**
 * A server using HTTP with SSE, the transport from 2024-11-05. The server sends its messages on a stream, and the client POSTs its own to
 * the URL announced there. Each conversation has a separate stream.
 */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { isTaken } from "../model/Call.ts"
import { type Options, reading } from "./http.ts"
import { type HttpEvent, type LineTarget, TargetError, type Wire, type WireEvent } from "./Target.ts"

type Endpoint = Pick<Options, "headers" | "url">

/** Type of the event with the URL for messages. */
const endpointEvent = "endpoint"
/** How long a message waits for the response to the previous POST, so that messages arrive in order. */
const mostWaiting = "1 second"

/** Reads a server's stream, event by event. */
const listening = ({ headers = {}, url }: Endpoint, tell: (event: HttpEvent) => void) => {
  const request = HttpClientRequest.get(url).pipe(
    HttpClientRequest.setHeaders({ ...headers, accept: "text/event-stream" })
  )
  return Effect.gen(function* () {
    const response = yield* HttpClient.execute(request)
    const { end, feed } = reading(response, tell)
    yield* Stream.runForEach(response.stream, (chunk) => Effect.sync(() => feed(chunk)))
    end()
  }).pipe(
    Effect.catchTag("HttpClientError", ({ message }) => Effect.sync(() => tell({ _tag: "Failed", why: message }))),
    Effect.provideService(HttpClient.TracerPropagationEnabled, false)
  )
}

/** Waits for the URL for messages on the server's stream. Fails if the server doesn't send one. */
const opened = Effect.fnUntraced(function* (endpoint: Endpoint, receive: (event: WireEvent) => void) {
  const place = yield* Deferred.make<URL, TargetError>()
  const cannot = (why: string) =>
    Deferred.doneUnsafe(place, Effect.fail(new TargetError({ message: `Cannot reach ${endpoint.url}: ${why}` })))
  let status = 0
  const ended = (why: string): void => {
    cannot(why)
    receive({ _tag: "Ended", how: why })
  }
  const tell = (event: HttpEvent): void => {
    if (event._tag === "Head") status = event.status
    if (event._tag === "End") ended(`its stream ended, status ${status}`)
    if (event._tag === "Failed") ended(event.why)
    if (event._tag !== "Event") return
    const { data, event: type } = event.event
    if (type === "message") return receive({ _tag: "Line", text: data })
    if (type !== endpointEvent) return
    const { origin } = new URL(endpoint.url)
    // Never POST to another origin.
    if (!URL.canParse(data, endpoint.url) || new URL(data, endpoint.url).origin !== origin)
      return void cannot(`it expects messages at ${data}, which is not on ${origin}`)
    Deferred.doneUnsafe(place, Effect.succeed(new URL(data, endpoint.url)))
  }
  yield* Effect.forkScoped(listening(endpoint, tell), { startImmediately: true })
  return yield* Deferred.await(place)
})

/** Returns a target for a server using HTTP with SSE. Nothing is sent to another origin. */
export const sse = (options: Endpoint): Effect.Effect<LineTarget, never, HttpClient.HttpClient> =>
  Effect.contextWith((context: Context.Context<HttpClient.HttpClient>) => {
    const { headers = {}, url } = options
    const open = Effect.fnUntraced(function* (receive: (event: WireEvent) => void) {
      const scope = yield* Effect.scope
      let isOver = false
      const tell = (event: WireEvent): void => {
        if (!isOver) receive(event)
      }
      const place = yield* opened(options, tell)
      const outgoing = yield* Queue.unbounded<string, Cause.Done>()
      const post = (text: string) => {
        const request = HttpClientRequest.post(place).pipe(
          HttpClientRequest.setHeaders(headers),
          HttpClientRequest.bodyText(text, "application/json")
        )
        return HttpClient.execute(request).pipe(
          Effect.tap(({ status }) =>
            Effect.sync(() => isTaken({ status }) || tell({ _tag: "Refused", text, how: `status ${status}` }))
          ),
          Effect.flatMap(({ stream }) => Stream.runDrain(stream)),
          Effect.catch(({ message }) => Effect.sync(() => tell({ _tag: "Refused", text, how: message }))),
          Effect.provideService(HttpClient.TracerPropagationEnabled, false)
        )
      }
      const posting = (text: string) =>
        Effect.flatMap(Effect.forkIn(post(text), scope), (fiber) =>
          Effect.timeoutOption(Fiber.await(fiber), mostWaiting)
        )
      yield* Effect.forkScoped(Stream.runForEach(Stream.fromQueue(outgoing), posting), { startImmediately: true })
      yield* Effect.addFinalizer(() => Effect.sync(() => (isOver = true)))
      const wire: Wire = {
        send: (line) => void Queue.offerUnsafe(outgoing, line),
        end: Effect.asVoid(Queue.end(outgoing))
      }
      return wire
    })
    return Effect.succeed({
      name: url,
      transport: "sse",
      open: (receive) => Effect.provide(open(receive), context)
    } satisfies LineTarget)
  })

/** How long a server may take to send the URL for messages. */
const patience = "3 seconds"

/** Returns true if the URL serves HTTP with SSE, which means its stream starts with the URL for messages. */
export const isSse = (options: Endpoint): Effect.Effect<boolean, never, HttpClient.HttpClient> =>
  opened(options, () => {}).pipe(Effect.timeout(patience), Effect.option, Effect.map(Option.isSome), Effect.scoped)
