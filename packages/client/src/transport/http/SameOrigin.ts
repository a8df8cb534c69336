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

/** By the context it was made of: few contexts make many requests. */
const prepared = new WeakMap<Context.Context<never>, Context.Context<never>>()

/**
 * The context in which requests are sent: `fetch` would follow redirects by itself, to anywhere; and where a trace goes on is said in
 * the message.
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

/** Follows a redirect on the same origin only, and keeps the request as it is; any other is the answer. */
export const execute = <R>(
  http: HttpClient.HttpClient.With<HttpClientError, R>,
  request: HttpClientRequest.HttpClientRequest,
  hops = 3
): Effect.Effect<HttpClientResponse, HttpClientError, R> =>
  Effect.flatMap(
    Effect.updateContext(
      http.execute(request),
      (context: Context.Context<R>) =>
        // What is prepared holds all that the context held.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
        prepare(context) as Context.Context<R>
    ),
    (response) => {
      // Headers are put together each time that they are asked for.
      const location = redirects.has(response.status) && hops > 0 ? response.headers["location"] : undefined
      if (location === undefined || !URL.canParse(location, request.url)) return Effect.succeed(response)
      const next = new URL(location, request.url)
      return next.origin === new URL(request.url).origin
        ? Effect.andThen(Body.skip(response), execute(http, HttpClientRequest.setUrl(request, next), hops - 1))
        : Effect.succeed(response)
    }
  )
