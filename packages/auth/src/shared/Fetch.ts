/**
 * Sends one request for metadata, a registration or a token.
 *
 * Limits: 20 seconds, 256 KiB, and 3 redirects within one origin for a GET. Redirects of a POST are not followed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { OAuthError, shown, type Step } from "./OAuthError.ts"
import { parseUrl } from "./url.ts"

/** Maximum size of a response to read, in bytes. */
const limit = 256 * 1024
const timeout = "20 seconds"
const maxRedirects = 3

export interface FetchResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  /** The parsed body, or `undefined` if it is not JSON. */
  readonly json: unknown
}

/** Sends the request and reads the whole response. Fails if that exceeds a bound. */
export const send = (
  http: HttpClient.HttpClient,
  step: Step,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<FetchResponse, OAuthError> => {
  const fail = (found: string, cause?: unknown) =>
    new OAuthError({
      step,
      problem: "the request failed",
      url: shown(request.url),
      found,
      advice: "Check that the server is running and reachable from here.",
      cause
    })
  return follow(http, fail, HttpClientRequest.acceptJson(request), 0).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(fail(`no response within ${timeout}`)) }),
    withoutRedirects
  )
}

/** Makes `fetch` return redirects instead of following them, so that credentials reach only their own server. */
export const withoutRedirects = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.context<R>(), (context) =>
    Effect.provideService(effect, FetchHttpClient.RequestInit, {
      ...Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit)),
      redirect: "manual"
    })
  )

type Fail = (found: string, cause?: unknown) => OAuthError

const follow = Effect.fnUntraced(function* (
  http: HttpClient.HttpClient,
  fail: Fail,
  request: HttpClientRequest.HttpClientRequest,
  hops: number
): Effect.fn.Return<FetchResponse, OAuthError> {
  const unreachable = Effect.mapError((cause: Error) =>
    cause instanceof OAuthError ? cause : fail(cause.message, cause)
  )
  const response = yield* unreachable(http.execute(request))
  const { status, headers } = response
  const location = headers["location"]
  if (status >= 300 && status < 400 && location !== undefined) {
    const target = parseUrl(location, request.url)
    if (request.method !== "GET") return yield* fail(`a redirect (${status}), which is not followed`)
    if (target === undefined || target.origin !== new URL(request.url).origin)
      return yield* fail(`a redirect to another origin, ${target?.origin ?? "none"}, which is not followed`)
    if (hops === maxRedirects) return yield* fail(`more than ${maxRedirects} redirects`)
    return yield* follow(http, fail, HttpClientRequest.setUrl(request, target), hops + 1)
  }
  return { status, headers, json: parse(yield* unreachable(text(response, fail))) }
})

const text = (response: HttpClientResponse.HttpClientResponse, fail: Fail) => {
  let bytes = 0
  return response.stream.pipe(
    Stream.mapEffect((chunk) => {
      bytes += chunk.byteLength
      return bytes > limit ? Effect.fail(fail(`more than ${limit} bytes`)) : Effect.succeed(chunk)
    }),
    Stream.decodeText,
    Stream.mkString
  )
}

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
