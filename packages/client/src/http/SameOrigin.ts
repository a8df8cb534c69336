/** Requests that stay where they were sent to: what is sent along (a token, a session's id) is for nobody else. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Body from "./Body.ts"

const redirects = new Set([307, 308])

/** `fetch` would follow redirects by itself, to anywhere. */
const byHand = <E, R>(answer: Effect.Effect<HttpClientResponse, E, R>): Effect.Effect<HttpClientResponse, E, R> =>
  Effect.flatMap(Effect.context<never>(), (context) =>
    Effect.provideService(answer, FetchHttpClient.RequestInit, {
      ...Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit)),
      redirect: "manual"
    })
  )

/** Follows a redirect on the same origin only, and keeps the request as it is; any other is the answer. */
export const execute = <R>(
  http: HttpClient.HttpClient.With<HttpClientError, R>,
  request: HttpClientRequest.HttpClientRequest,
  hops = 3
): Effect.Effect<HttpClientResponse, HttpClientError, R> =>
  // Where a trace goes on is said in the message.
  Effect.provideService(byHand(http.execute(request)), HttpClient.TracerDisabledWhen, () => true).pipe(
    Effect.flatMap((response) => {
      const { location } = response.headers
      if (!redirects.has(response.status) || location === undefined || hops === 0) return Effect.succeed(response)
      if (!URL.canParse(location, request.url)) return Effect.succeed(response)
      const next = new URL(location, request.url)
      return next.origin === new URL(request.url).origin
        ? Effect.andThen(Body.skip(response), execute(http, HttpClientRequest.setUrl(request, next), hops - 1))
        : Effect.succeed(response)
    })
  )
