/**
 * The `HttpClient` that sends tokens along: what `OAuth.layer` provides.
 *
 * Owns the answers to refusals: how often a request is sent again, and with what. Where tokens come from is `Access`'s matter.
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
  /** What requests are sent with in the end. */
  readonly http: HttpClient.HttpClient
  readonly nonces: Dpop.Nonces
  /** How often one request may lead to more scopes being asked for. */
  readonly stepUps: number
  readonly accessTo: (url: URL) => Effect.Effect<Access.Access>
}

/** Attempts per request that end in tokens that the server refuses as well. */
const maxRenewals = 3

/** Reads what little a refusal says, so that its connection is free again. */
export const discard = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.ignore(Effect.timeout(Stream.runDrain(Stream.take(response.stream, 16)), "1 second"))

/** A demand that could not be met is the refusal that it came with, and not a broken connection, after which one would try again. */
const wrap = <A>(
  effect: Effect.Effect<A, OAuthError>,
  request: HttpClientRequest.HttpClientRequest,
  response?: HttpClientResponse.HttpClientResponse
) =>
  Effect.mapError(effect, (cause) => {
    const details = { request, cause, description: cause.message }
    return new HttpClientError.HttpClientError({
      reason:
        response === undefined
          ? new HttpClientError.TransportError(details)
          : new HttpClientError.StatusCodeError({ ...details, response })
    })
  })

export const make = ({ accessTo, http, nonces, stepUps: maxStepUps }: Options): HttpClient.HttpClient => {
  const send = Effect.fnUntraced(function* (
    request: HttpClientRequest.HttpClientRequest,
    url: URL,
    current: Access.Current | undefined
  ) {
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

  const authorized = Effect.fnUntraced(function* (
    request: HttpClientRequest.HttpClientRequest,
    url: URL
  ): Effect.fn.Return<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> {
    const access = yield* accessTo(url)
    let current = yield* wrap(access.current, request)
    let granted = false
    let renewals = 0
    let stepUps = 0
    let nonceRetries = 0
    while (true) {
      const response = yield* send(request, url, current)
      const learned = nonces.learn("resource", url, response.headers)
      if (response.status !== 401 && response.status !== 403) return response
      // Nobody logs in to end a session.
      if (request.method === "DELETE" && request.headers["mcp-session-id"] !== undefined) return response
      const demand = Challenge.demand(response.headers["www-authenticate"])
      if (response.status === 403 && (current === undefined || demand.error !== "insufficient_scope")) return response
      yield* discard(response)
      if (response.status === 401 && demand.error === "use_dpop_nonce" && learned && nonceRetries++ < 2) continue
      if (response.status === 401 && (granted || renewals++ >= maxRenewals))
        return yield* wrap(
          refused(url, demand, "the server refuses a token that was just issued for it"),
          request,
          response
        )
      if (response.status === 403 && stepUps++ >= maxStepUps)
        return yield* wrap(
          refused(url, demand, "the server demands more scopes than it was asked for"),
          request,
          response
        )
      current = yield* wrap(access.renew(current, demand), request, response)
      granted = current.granted
    }
  })

  const insecure = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest, url: URL) {
    const response = yield* http.execute(request)
    if (response.status !== 401) return response
    const problem = "the connection is not secure, and no token is sent over it"
    const expected = "https, or http on the loopback interface"
    return yield* wrap(new OAuthError({ step: "access", problem, url: shown(url), expected }), request, response)
  })

  return HttpClient.makeWith<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    Effect.flatMap((request) => {
      const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
      // A request that has credentials of its own is not ours.
      if (url === undefined || request.headers["authorization"] !== undefined) return http.execute(request)
      return TrustedUrl.isSecure(url) ? authorized(request, url) : insecure(request, url)
    }),
    Effect.succeed
  )
}
