/** Requests that follow redirects on the same origin only: tokens and session ids are for one server. */
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

/** By the context that it was made from: few contexts make many requests. */
const prepared = new WeakMap<Context.Context<never>, Context.Context<never>>()

/**
 * The context in which requests are sent: `fetch` must not follow redirects by itself, and traces continue in messages, not in headers.
 */
export const prepare = (context: Context.Context<never>): Context.Context<never> => {
  const known = prepared.get(context)
  if (known !== undefined) return known
  const init = Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit))
  const made = context.pipe(
    Context.add(FetchHttpClient.RequestInit, { ...init, redirect: "manual" }),
    Context.add(HttpClient.TracerDisabledWhen, () => true)
  )
  prepared.set(context, made).set(made, made)
  return made
}

/** Follows a redirect on the same origin with the unchanged request; any other redirect is the response. */
export const execute = <R>(
  http: HttpClient.HttpClient.With<HttpClientError, R>,
  request: HttpClientRequest.HttpClientRequest,
  hops = 3
): Effect.Effect<HttpClientResponse, HttpClientError, R> =>
  Effect.flatMap(
    Effect.updateContext(
      http.execute(request),
      (context: Context.Context<R>) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the prepared context holds all services of the context
        prepare(context) as Context.Context<R>
    ),
    (response) => {
      // Headers are made each time that they are read.
      const location = redirects.has(response.status) && hops > 0 ? response.headers["location"] : undefined
      if (location === undefined || !URL.canParse(location, request.url)) return Effect.succeed(response)
      const next = new URL(location, request.url)
      return next.origin === new URL(request.url).origin
        ? Effect.andThen(Body.skip(response), execute(http, HttpClientRequest.setUrl(request, next), hops - 1))
        : Effect.succeed(response)
    }
  )
