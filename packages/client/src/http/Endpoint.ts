/**
 * The server's URL and what requests to it share: the user's headers, and those of the session once it is open.
 *
 * Owns the session's id and revision. A session's id goes to nobody else: a redirect is followed on the same origin only.
 */
import * as MetadataHeaders from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import { protocolVersion } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Body from "./Body.ts"

type Answer = Effect.Effect<HttpClientResponse, HttpClientError>

/** A request that says everything itself (2026-07-28): it belongs to no session. */
export const isStateless = (message: JsonRpc.Request): boolean => {
  const meta = message.params?._meta
  return isJsonObject(meta) && typeof meta[protocolVersion] === "string"
}

const eventStream = "text/event-stream"
const redirects = new Set([307, 308])

/** `fetch` would follow redirects by itself, to anywhere. */
const withoutRedirects = (answer: Answer): Answer =>
  Effect.flatMap(Effect.context<never>(), (context) =>
    Effect.provideService(answer, FetchHttpClient.RequestInit, {
      ...Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit)),
      redirect: "manual"
    })
  )

export class Endpoint {
  /** Given with the answer to `initialize`, if at all. */
  session: string | undefined = undefined
  /** The revision that `initialize` agreed on. */
  version: string | undefined = undefined
  readonly url: URL
  private readonly http: HttpClient.HttpClient
  private readonly shared: Headers.Headers

  constructor(http: HttpClient.HttpClient, url: URL, shared: Headers.Input | undefined) {
    this.http = http
    this.url = url
    this.shared = Headers.fromInput(shared)
  }

  private get ofSession(): { readonly [name: string]: string } {
    return {
      ...(this.version === undefined ? undefined : { [MetadataHeaders.version]: this.version }),
      ...(this.session === undefined ? undefined : { "mcp-session-id": this.session })
    }
  }

  private execute(request: HttpClientRequest.HttpClientRequest, hops = 3): Answer {
    // Where a trace goes on is said in the message.
    const sent = Effect.provideService(
      withoutRedirects(this.http.execute(request)),
      HttpClient.TracerDisabledWhen,
      () => true
    )
    return Effect.flatMap(sent, (response) => {
      const { location } = response.headers
      if (!redirects.has(response.status) || location === undefined || hops === 0) return Effect.succeed(response)
      if (!URL.canParse(location, request.url)) return Effect.succeed(response)
      const next = new URL(location, request.url)
      return next.origin === this.url.origin
        ? Effect.andThen(Body.skip(response), this.execute(HttpClientRequest.setUrl(request, next), hops - 1))
        : Effect.succeed(response)
    })
  }

  /** Posts one message, or a batch. `extra`: headers of this request alone. */
  post(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, text: string, extra?: RequestHeaders): Answer {
    const request = isBatch(message) || !JsonRpc.isRequest(message) ? undefined : message
    const own =
      request === undefined
        ? this.ofSession
        : isStateless(request)
          ? MetadataHeaders.of(request)
          : request.method === "initialize"
            ? undefined
            : this.ofSession
    const headers = { ...this.shared, ...extra, ...own, accept: `application/json, ${eventStream}` }
    return this.execute(
      HttpClientRequest.bodyText(HttpClientRequest.post(this.url, { headers }), text, "application/json")
    )
  }

  /** Opens the session's stream, or goes on with another after `lastEventId`. */
  get(lastEventId: string | undefined): Answer {
    const resumed = lastEventId === undefined ? undefined : { "last-event-id": lastEventId }
    const headers = { ...this.shared, ...this.ofSession, ...resumed, accept: eventStream }
    return this.execute(HttpClientRequest.get(this.url, { headers }))
  }

  /** Ends the session. */
  remove(): Effect.Effect<void, HttpClientError> {
    const headers = { ...this.shared, ...this.ofSession }
    return Effect.flatMap(this.execute(HttpClientRequest.delete(this.url, { headers })), (answer) => Body.skip(answer))
  }
}

export const isBatch = (
  message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>
): message is ReadonlyArray<JsonRpc.Message> => Array.isArray(message)
