/** A server at a URL. Every conversation uses the same server, with a separate session if the server has sessions. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type CallHeaders, isStream } from "../model/Call.ts"
import type { HttpEvent, HttpWire, TargetRequest, HttpTarget } from "./Target.ts"

export interface Options {
  readonly url: string
  /** Headers to send with every request, such as credentials. */
  readonly headers?: { readonly [name: string]: string } | undefined
  /** Headers to send instead when acting as a second user, whose client must not reach the first user's tasks. Default: no second user. */
  readonly strangerHeaders?: { readonly [name: string]: string } | undefined
}

/** Maximum length of a body or an event, in characters. */
const longest = 16 * 1024 * 1024

/** Maximum number of session ids to remember. Some servers issue a new id to every client. */
const mostIds = 100_000

/** Reads a response as its body arrives: event by event for a stream, or as one text at the end. */
export const reading = (
  { headers, status }: { readonly headers: CallHeaders; readonly status: number },
  tell: (event: HttpEvent) => void
) => {
  tell({ _tag: "Head", status, headers })
  const decoder = new TextDecoder()
  let text = ""
  const parser = Sse.makeParser(
    (event) =>
      event._tag === "Retry"
        ? tell({ _tag: "Retry", milliseconds: Duration.toMillis(event.duration) })
        : tell({ _tag: "Event", event: { id: event.id, event: event.event, data: event.data } }),
    { maxEventSize: longest, dispatchEmptyNamedEvents: true }
  )
  const streams = isStream({ answered: headers })
  return {
    feed: (chunk: Uint8Array): void => {
      const part = decoder.decode(chunk, { stream: true })
      if (streams) parser.feed(part)
      else if (text.length < longest) text += part
    },
    end: (): void => tell({ _tag: "End", body: text })
  }
}

const body = Effect.fnUntraced(function* (response: HttpClientResponse, tell: (event: HttpEvent) => void) {
  const { end, feed } = reading(response, tell)
  const read = Stream.runForEach(response.stream, (chunk) => Effect.sync(() => feed(chunk)))
  const whole = Effect.sync(end)
  yield* Effect.catch(Effect.andThen(read, whole), (error) =>
    error.reason._tag === "EmptyBodyError" ? whole : Effect.sync(() => tell({ _tag: "Failed", why: error.message }))
  )
})

const lowerCase = (headers: CallHeaders): CallHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Returns a target for the server at a URL. Redirects are not followed, so no request goes to another server. */
export const http = ({
  headers = {},
  strangerHeaders,
  url
}: Options): Effect.Effect<HttpTarget, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const init = yield* Effect.serviceOption(FetchHttpClient.RequestInit)
    const seen = new Set<string>()
    const isNewId = (id: string): boolean => {
      const isNew = !seen.has(id)
      if (seen.size < mostIds) seen.add(id)
      return isNew
    }
    const exchange = (headers: CallHeaders, request: TargetRequest, tell: (event: HttpEvent) => void) => {
      const made = HttpClientRequest.make(request.method)(url).pipe(
        HttpClientRequest.setHeaders({ ...headers, ...request.headers }),
        request.body === undefined
          ? (same) => same
          : HttpClientRequest.bodyText(request.body, request.headers["content-type"])
      )
      return client.execute(made).pipe(
        Effect.flatMap((response) => body(response, tell)),
        Effect.catchTag("HttpClientError", ({ message }) => Effect.sync(() => tell({ _tag: "Failed", why: message }))),
        Effect.provideService(HttpClient.TracerPropagationEnabled, false),
        Effect.provideService(FetchHttpClient.RequestInit, {
          ...(init._tag === "Some" ? init.value : undefined),
          redirect: "manual"
        })
      )
    }
    const opened = (headers: CallHeaders) =>
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const run = Effect.runForkWith(yield* Effect.context<never>())
        const wire: HttpWire = {
          isNewId,
          begin: (request, listener) => {
            let isCut = false
            const told = (event: HttpEvent) => {
              if (!isCut) listener(event)
            }
            const fiber = run(exchange(headers, request, told))
            const cut = () => {
              isCut = true
              fiber.interruptUnsafe()
            }
            run(Scope.addFinalizer(scope, Effect.sync(cut)))
            return cut
          }
        }
        return wire
      })
    return {
      name: url,
      transport: "http",
      isAnonymous: Object.keys(headers).length === 0,
      open: opened(headers),
      stranger: strangerHeaders && opened({ ...lowerCase(headers), ...lowerCase(strangerHeaders) })
    }
  })
