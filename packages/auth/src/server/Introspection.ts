/**
 * A `TokenVerifier` that asks the authorization server about each token (RFC 7662). Use it for opaque tokens, or if revoking a token must
 * take effect immediately.
 *
 * Owns the request and its authentication. `Auth` checks the returned claims. The optional cache stores a digest of each token, never the
 * token itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662 OAuth 2.0 Token Introspection
 */
import * as Cache from "effect/Cache"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { formEncoded, sha256 } from "../shared/hash.ts"
import * as Documents from "./Documents.ts"
import {
  type Claims,
  type Expected,
  frozen,
  InvalidToken,
  shown,
  TokenVerifier,
  VerifierUnavailable
} from "./TokenVerifier.ts"

/** Options for token introspection. */
export interface Options {
  /** URL of the introspection endpoint. Defaults to `introspection_endpoint` in the first authorization server's metadata. */
  readonly endpoint?: string | undefined
  /** This server's credentials for the endpoint (RFC 7662 section 2.1). A secret is sent using HTTP Basic unless `method` is `post`. */
  readonly credentials:
    | {
        readonly clientId: string
        readonly clientSecret: Redacted.Redacted<string>
        readonly method?: "basic" | "post"
      }
    | { readonly bearer: Redacted.Redacted<string> }
  /** How long to cache a response. During that time, a revoked token may still be accepted. Default 0 (no caching). */
  readonly cacheFor?: Duration.Input | undefined
  /** Maximum number of cached responses. Default: 10 000. */
  readonly capacity?: number | undefined
  /**
   * Audience to assume if a response has no `aud`. Only set it if the endpoint issues no tokens for other resources. By default, tokens
   * without an audience are rejected.
   */
  readonly assumeAudience?: string | undefined
}

const step = "Token introspection failed"

const authenticated = (
  request: HttpClientRequest.HttpClientRequest,
  credentials: Options["credentials"],
  form: { readonly [name: string]: string }
): HttpClientRequest.HttpClientRequest => {
  if ("bearer" in credentials) {
    return HttpClientRequest.bodyUrlParams(HttpClientRequest.bearerToken(request, credentials.bearer), form)
  }
  const { clientId, clientSecret, method = "basic" } = credentials
  const secret = Redacted.value(clientSecret)
  return method === "post"
    ? HttpClientRequest.bodyUrlParams(request, { ...form, client_id: clientId, client_secret: secret })
    : // RFC 6749 section 2.3.1 requires form encoding before Base64.
      HttpClientRequest.bodyUrlParams(
        HttpClientRequest.basicAuth(request, formEncoded(clientId), formEncoded(secret)),
        form
      )
}

const inactive = new InvalidToken({
  step,
  expected: "an active token",
  found: "an expired, revoked or unknown token",
  remedy: "Get a new token from the authorization server."
})

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<TokenVerifier["Service"], never, HttpClient.HttpClient> {
  const http = yield* HttpClient.HttpClient
  const cacheFor = Duration.fromInputUnsafe(options.cacheFor ?? 0)
  // Keyed by issuer, because resources with different issuers may share a verifier.
  const endpoints = new Map<string, string>()

  const endpoint = Effect.fnUntraced(function* (issuer: string): Effect.fn.Return<string, VerifierUnavailable> {
    const known = options.endpoint ?? endpoints.get(issuer)
    if (known !== undefined) return known
    const metadata = yield* Documents.metadata(http, issuer)
    const found = yield* Documents.endpoint(step, issuer, metadata, "introspection_endpoint")
    endpoints.set(issuer, found)
    return found
  })

  const ask = Effect.fnUntraced(function* (
    token: Redacted.Redacted<string>,
    issuer: string
  ): Effect.fn.Return<Claims, InvalidToken | VerifierUnavailable> {
    const url = yield* endpoint(issuer)
    const form = { token: Redacted.value(token), token_type_hint: "access_token" }
    const { json, status } = yield* Documents.send(
      step,
      http,
      authenticated(HttpClientRequest.post(url), options.credentials, form)
    )
    if (status !== 200 || typeof json?.active !== "boolean") {
      const found = `status ${status}${json === undefined ? "" : ` with ${shown(json.error ?? json.active)}`}`
      const remedy = status === 401 ? "Check this server's client credentials." : "Check the introspection endpoint."
      return yield* new VerifierUnavailable({ step, url, expected: "status 200 with `active`", found, remedy })
    }
    if (!json.active) return yield* inactive
    // Some endpoints omit `iss`, but the endpoint belongs to this issuer.
    return {
      ...json,
      iss: json.iss ?? issuer,
      ...(json.aud === undefined && options.assumeAudience !== undefined ? { aud: options.assumeAudience } : undefined)
    }
  })
  const issuerOf = ({ issuers }: Expected): string => issuers[0] ?? ""
  if (Duration.isZero(cacheFor)) return { verify: (token, expected) => ask(token, issuerOf(expected)) }

  // The cache looks up by key alone, so the request that needs the token itself is kept here.
  const asking = new Map<string, Effect.Effect<Claims, InvalidToken | VerifierUnavailable>>()
  const answers = yield* Cache.makeWith(
    (key: string) =>
      Effect.map(asking.get(key) ?? Effect.die(new Error("No request for this token is running")), frozen),
    {
      capacity: options.capacity ?? 10_000,
      // Failures other than an inactive token are not cached, so that the next request asks again.
      timeToLive: (exit) =>
        Exit.isSuccess(exit) || exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error === inactive)
          ? cacheFor
          : Duration.zero
    }
  )
  return {
    verify: Effect.fnUntraced(function* (token, expected) {
      const issuer = issuerOf(expected)
      const key = `${yield* sha256(Redacted.value(token))} ${issuer}`
      const question = ask(token, issuer)
      asking.set(key, question)
      return yield* Effect.ensuring(
        Cache.get(answers, key),
        // Keeps the entry if a later request for the same token has replaced it.
        Effect.sync(() => asking.get(key) === question && asking.delete(key))
      )
    })
  }
})

/**
 * Provides a verifier that asks the resource's first authorization server about every token. While that server is unreachable, requests
 * receive a 503.
 *
 * @example
 * ```ts
 * import { Auth, Introspection } from "@effect-mcp/auth"
 * import { Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const verifier = Introspection.layer({
 *   credentials: { clientId: "files", clientSecret: Redacted.make("from the environment") },
 *   cacheFor: "10 seconds"
 * })
 *
 * export const auth = Auth.layer({
 *   resource: "https://files.example.com/mcp",
 *   authorizationServers: ["https://login.example.com"]
 * }).pipe(Layer.provide(verifier), Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layer = (options: Options): Layer.Layer<TokenVerifier, never, HttpClient.HttpClient> =>
  Layer.effect(TokenVerifier, make(options))
