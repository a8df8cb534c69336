/**
 * The `HttpClient` that authorizes requests, provided by `OAuth.layer`.
 *
 * Handles 401 and 403 responses: decides how often to resend a request, and with which tokens. `Access` obtains the tokens.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type * as Access from "./Access.ts"
import * as Challenge from "@effect-mcp/protocol/Challenge"
import * as Dpop from "./Dpop.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import * as Fetch from "../shared/Fetch.ts"
import { OAuthError, listed, shown } from "../shared/OAuthError.ts"

export interface Options {
  /** The client that sends the requests. */
  readonly http: HttpClient.HttpClient
  readonly nonces: Dpop.Nonces
  /** How many times a request may ask the authorization server for more scopes. */
  readonly stepUps: number
  readonly accessTo: (url: URL) => Effect.Effect<Access.Access>
}

/** How many times a request may obtain new tokens after a 401. */
const maxRenewals = 3

/** Reads up to 16 chunks of an error response, for up to a second, so that its connection can be reused. */
export const discard = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.ignore(Effect.timeout(Stream.runDrain(Stream.take(response.stream, 16)), "1 second"))

const threw = (cause: unknown) =>
  Effect.fail(
    new OAuthError({
      step: "access",
      problem: "the application's token store, grant or authorizer threw an error",
      cause
    })
  )

/**
 * Converts an `OAuthError` into a failed request. If the server responded, the failure carries its status, because a transport error would
 * be retried. Stores, grants and authorizers are application code: if one throws, only this request fails.
 */
const wrap = <A>(
  effect: Effect.Effect<A, OAuthError>,
  request: HttpClientRequest.HttpClientRequest,
  response?: HttpClientResponse.HttpClientResponse
) =>
  Effect.mapError(Effect.catchDefect(effect, threw), (cause) => {
    const details = { request, cause, description: cause.message }
    return new HttpClientError.HttpClientError({
      reason:
        response === undefined
          ? new HttpClientError.TransportError(details)
          : new HttpClientError.StatusCodeError({ ...details, response })
    })
  })

/** Sends a request with the current tokens, and with a proof if they are bound to a key. They are not sent along on redirects. */
const send = Effect.fnUntraced(function* (
  { http, nonces }: Options,
  request: HttpClientRequest.HttpClientRequest,
  url: URL,
  current: Access.Current | undefined
): Effect.fn.Return<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> {
  if (current === undefined) return yield* http.execute(request)
  const { accessToken, key, tokenType } = current.tokens
  const authorized = HttpClientRequest.setHeader(
    request,
    "authorization",
    `${tokenType} ${Redacted.value(accessToken)}`
  )
  if (tokenType !== "DPoP" || key === undefined) return yield* Fetch.withoutRedirects(http.execute(authorized))
  const { method } = request
  const proof = Effect.flatMap(Dpop.restore(key), (restored) =>
    Dpop.proof(restored, { method, url, accessToken, nonce: nonces.get("resource", url) })
  )
  return yield* Fetch.withoutRedirects(
    http.execute(HttpClientRequest.setHeader(authorized, "dpop", yield* wrap(proof, request)))
  )
})

const refused = (url: URL, demand: Challenge.Demand, problem: string) =>
  new OAuthError({
    step: "access",
    problem,
    url: shown(url),
    code: demand.error === undefined ? undefined : excerpt(demand.error),
    expected: demand.scopes === undefined ? undefined : `scopes ${listed(demand.scopes)}`,
    advice: "Check that the authorization server issues tokens for this resource, and that the server accepts them."
  })

/** Sends a request, and resends it after obtaining new tokens or scopes. Every kind of retry is bounded. */
const authorized = Effect.fnUntraced(function* (
  options: Options,
  request: HttpClientRequest.HttpClientRequest,
  url: URL
): Effect.fn.Return<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> {
  const access = yield* options.accessTo(url)
  let current = yield* wrap(access.current, request)
  let granted = false
  let renewals = 0
  let stepUps = 0
  let nonceRetries = 0
  while (true) {
    const response = yield* send(options, request, url, current)
    const learned = options.nonces.learn("resource", url, response.headers)
    if (response.status !== 401 && response.status !== 403) return response
    // Ending a session is no reason to ask the user to log in.
    if (request.method === "DELETE" && request.headers["mcp-session-id"] !== undefined) return response
    const demand = Challenge.demand(response.headers["www-authenticate"])
    if (response.status === 403 && (current === undefined || demand.error !== "insufficient_scope")) return response
    yield* discard(response)
    if (response.status === 401 && demand.error === "use_dpop_nonce" && learned && nonceRetries++ < 2) continue
    if (response.status === 401 && (granted || renewals++ >= maxRenewals))
      return yield* wrap(refused(url, demand, "the server rejected a newly issued token"), request, response)
    if (response.status === 403 && stepUps++ >= options.stepUps)
      return yield* wrap(
        refused(
          url,
          demand,
          "the server still reports insufficient_scope although the token has the scopes it asked for"
        ),
        request,
        response
      )
    current = yield* wrap(access.renew(current, demand), request, response)
    granted = current.granted
  }
})

/** Sends a request over plain HTTP, never with a token. Fails if the server requires one. */
const insecure = Effect.fnUntraced(function* (
  { http }: Options,
  request: HttpClientRequest.HttpClientRequest,
  url: URL
): Effect.fn.Return<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> {
  const response = yield* http.execute(request)
  if (response.status !== 401) return response
  const problem = "refusing to send a token over an insecure connection"
  const expected = "https, or http on the loopback interface"
  return yield* wrap(new OAuthError({ step: "access", problem, url: shown(url), expected }), request, response)
})

/** Creates the client on top of `options.http`. Requests that already have an `Authorization` header are sent unchanged. */
export const make = (options: Options): HttpClient.HttpClient =>
  HttpClient.makeWith<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    Effect.flatMap((request) => {
      const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
      if (url === undefined || request.headers["authorization"] !== undefined) return options.http.execute(request)
      return TrustedUrl.isSecure(url) ? authorized(options, request, url) : insecure(options, request, url)
    }),
    Effect.succeed
  )
