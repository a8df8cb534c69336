/**
 * Sends requests to a token endpoint (OAuth 2.1 section 3.2) and checks the responses. Rejects tokens that are not valid in a header, and
 * token types that were not requested.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ClientIdentity from "./ClientIdentity.ts"
import * as Dpop from "./Dpop.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import * as Fetch from "../shared/Fetch.ts"
import * as Metadata from "../shared/Metadata.ts"
import { OAuthError, type Step, shown } from "../shared/OAuthError.ts"
import * as Scopes from "./Scopes.ts"
import type { Tokens } from "./Stored.ts"

/** How many milliseconds before expiry to refresh tokens. Short-lived tokens are refreshed halfway through their lifetime. */
const early = 30_000

/** Form parameters. Those that are `undefined` are omitted. */
export interface Parameters {
  readonly [name: string]: string | undefined
}

/** The key that tokens are bound to (DPoP), and the nonces for its proofs. */
export interface Binding {
  readonly key: Dpop.Key
  readonly nonces: Dpop.Nonces
  /** Whether to reject a token that is not bound to the key. */
  readonly required: boolean
}

/** The authorization server, the MCP server that named it, and how to send requests. */
export interface TokenTarget extends TrustedUrl.Trust {
  readonly http: HttpClient.HttpClient
  readonly metadata: Metadata.AuthorizationServer
  readonly binding?: Binding | undefined
}

const Response = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.optionalKey(Schema.String),
  issued_token_type: Schema.optionalKey(Schema.String),
  expires_in: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.FiniteFromString])),
  refresh_token: Schema.optionalKey(Schema.String),
  id_token: Schema.optionalKey(Schema.String),
  scope: Schema.optionalKey(Schema.String)
})
const decodeResponse = Schema.decodeUnknownOption(Response)

const Refusal = Schema.Struct({ error: Schema.String, error_description: Schema.optionalKey(Schema.String) })
const decodeRefusal = Schema.decodeUnknownOption(Refusal)

const secrets = [
  "assertion",
  "client_assertion",
  "client_secret",
  "code",
  "code_verifier",
  "refresh_token",
  "subject_token"
]

/** Removes the secrets that were sent from the authorization server's text, in case it repeats them. */
const withoutSecrets = (text: string, sent: Parameters): string =>
  secrets.reduce((text, name) => (sent[name] ? text.replaceAll(sent[name], "***") : text), text)

/** Returns a response's error as details for an `OAuthError`, without the secrets in `sent`. */
export const refusal = (json: unknown, sent: Parameters = {}): { readonly code?: string; readonly found?: string } => {
  const { error, error_description } = Option.getOrUndefined(decodeRefusal(Metadata.withoutNulls(json))) ?? {}
  return {
    ...(error === undefined ? undefined : { code: excerpt(error) }),
    ...(error_description === undefined ? undefined : { found: excerpt(withoutSecrets(error_description, sent)) })
  }
}

const post = Effect.fnUntraced(function* (
  target: Omit<TokenTarget, "metadata">,
  step: Step,
  url: URL,
  parameters: Parameters,
  headers: { readonly [name: string]: string }
): Effect.fn.Return<Fetch.FetchResponse, OAuthError> {
  const { binding } = target
  const request = HttpClientRequest.post(url, { headers }).pipe(
    HttpClientRequest.bodyUrlParams(
      Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined))
    )
  )
  if (binding === undefined) return yield* Fetch.send(target.http, step, request)
  for (let attempt = 0; ; attempt++) {
    const nonce = binding.nonces.get("issuer", url)
    const proof = yield* Dpop.proof(binding.key, { method: "POST", url, nonce })
    const answer = yield* Fetch.send(target.http, step, HttpClientRequest.setHeader(request, "dpop", proof))
    const learned = binding.nonces.learn("issuer", url, answer.headers)
    if (attempt > 0 || !learned || refusal(answer.json).code !== "use_dpop_nonce") return answer
  }
})

/** Posts a form to a token endpoint and decodes the response. Fails if the response is an error. */
export const ask = Effect.fnUntraced(function* (
  target: Omit<TokenTarget, "metadata">,
  step: Step,
  url: URL,
  parameters: Parameters,
  headers: { readonly [name: string]: string }
): Effect.fn.Return<typeof Response.Type, OAuthError> {
  const { status, json } = yield* post(target, step, url, parameters, headers)
  if (status !== 200)
    return yield* new OAuthError({
      step,
      problem: "the token endpoint refused the request",
      url: shown(url),
      status,
      ...refusal(json, parameters)
    })
  const response = Option.getOrUndefined(decodeResponse(Metadata.withoutNulls(json)))
  // A header can only carry visible ASCII.
  if (response === undefined || !/^[\x21-\x7e]+$/.test(response.access_token))
    return yield* new OAuthError({
      step,
      problem: "the token endpoint returned an invalid response",
      url: shown(url),
      status,
      expected: "JSON with `access_token` and `token_type`"
    })
  return response
})

/** Returns the token endpoint's URL after checking it. */
export const endpoint = (target: TokenTarget): Effect.Effect<URL, OAuthError> =>
  target.metadata.token_endpoint === undefined
    ? Effect.fail(
        new OAuthError({
          step: "server-metadata",
          problem: "the metadata does not include a token endpoint",
          url: excerpt(target.metadata.issuer),
          expected: "`token_endpoint`"
        })
      )
    : TrustedUrl.check("server-metadata", "`token_endpoint`", target.metadata.token_endpoint, target)

/** Requests tokens. `requested` is stored with them as the requested scopes. */
export const tokens = Effect.fnUntraced(function* (
  target: TokenTarget,
  credentials: ClientIdentity.Known,
  parameters: Parameters,
  requested: Scopes.Scopes
): Effect.fn.Return<Tokens, OAuthError> {
  const url = yield* endpoint(target)
  const proof = yield* ClientIdentity.prove(credentials, target.metadata)
  const before = yield* Clock.currentTimeMillis
  const response = yield* ask(target, "token", url, { ...parameters, ...proof.parameters }, proof.headers)
  const type = (response.token_type ?? "Bearer").toLowerCase()
  if (type !== "bearer" && (type !== "dpop" || target.binding === undefined))
    return yield* new OAuthError({
      step: "token",
      problem: "the token has an unexpected type",
      url: shown(url),
      expected: target.binding === undefined ? "Bearer" : "DPoP or Bearer",
      found: excerpt(type)
    })
  if (type === "bearer" && target.binding?.required === true)
    return yield* new OAuthError({
      step: "token",
      problem: "the token is not bound to a key, but must be",
      url: shown(url),
      expected: "DPoP",
      found: excerpt(type)
    })
  const lifetime = response.expires_in === undefined ? undefined : response.expires_in * 1000
  return {
    accessToken: Redacted.make(response.access_token),
    tokenType: type === "dpop" ? "DPoP" : "Bearer",
    requested,
    clientId: credentials.clientId,
    ...(lifetime === undefined
      ? undefined
      : { expiresAt: before + lifetime, renewAt: before + Math.max(lifetime - early, lifetime / 2) }),
    ...(credentials.registration === undefined ? undefined : { registration: credentials.registration }),
    ...(response.refresh_token === undefined ? undefined : { refreshToken: Redacted.make(response.refresh_token) }),
    ...(response.scope === undefined ? undefined : { granted: Scopes.parse(response.scope) }),
    // A public client's refresh token is bound too, regardless of the type of its access token.
    ...(target.binding === undefined ? undefined : { key: target.binding.key.secret })
  }
})
