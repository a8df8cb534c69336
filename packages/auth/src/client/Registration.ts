/**
 * Registers a client with an authorization server. Tries the following in order: pre-registered credentials, a client ID metadata document,
 * dynamic registration (RFC 7591), and credentials entered by the user.
 *
 * Registrations are stored per issuer and never sent to another one.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Credentials, Known, PreRegistered, SigningKey } from "./ClientIdentity.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import type { GrantRequest } from "./Grant.ts"
import * as Fetch from "../shared/Fetch.ts"
import { parseUrl } from "../shared/url.ts"
import * as Metadata from "../shared/Metadata.ts"
import { OAuthError, listed, shown } from "../shared/OAuthError.ts"
import * as Stored from "./Stored.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import { TokenStore } from "./TokenStore.ts"

/** Options for the client and its registration. */
export interface Options {
  /** The client's name, which authorization servers show to the user. */
  readonly clientName: string
  /** Credentials registered out of band, one entry per issuer. */
  readonly preRegistered?: ReadonlyArray<PreRegistered> | undefined
  /** HTTPS URL of the client's metadata document. It is used as the client ID if the authorization server supports that. */
  readonly metadataUrl?: string | undefined
  /** The key that the metadata document names. Required if the document specifies `private_key_jwt`. */
  readonly signingKey?: SigningKey | undefined
  /** Additional fields for dynamic registration, such as `client_uri` or `logo_uri`, or `false` to disable it. Default: none. */
  readonly registration?: { readonly [field: string]: unknown } | false | undefined
  /** Asks the user for credentials if there is no other way to register. */
  readonly ask?: ((issuer: string) => Effect.Effect<Credentials | undefined, OAuthError>) | undefined
}

const Response = Schema.Struct({
  client_id: Schema.String,
  client_secret: Schema.optionalKey(Schema.String),
  client_secret_expires_at: Schema.optionalKey(Schema.Finite),
  token_endpoint_auth_method: Schema.optionalKey(Schema.String),
  redirect_uris: Schema.optionalKey(Schema.Array(Schema.String))
})
const decodeResponse = Schema.decodeUnknownOption(Response)
const isMethod = Schema.is(Stored.AuthMethod)

const fromStored = (registration: Stored.Registration): Known => {
  const { clientId, clientSecret, method } = registration
  return { clientId, clientSecret, method, registration }
}

/** True if the registration's secret has not expired. */
const isCurrent = ({ expiresAt }: Stored.Registration): Effect.Effect<boolean> =>
  Effect.map(Clock.currentTimeMillis, (now) => expiresAt === undefined || expiresAt > now)

/** True if the client ID is a document URL: HTTPS, with a path, and in canonical form. */
const isDocumentUrl = (text: string): boolean => {
  const url = parseUrl(text)
  return (
    url?.protocol === "https:" && url.pathname !== "/" && url.hash === "" && url.username === "" && url.href === text
  )
}

/**
 * Returns a client's metadata document, to serve as JSON at `metadataUrl`. Throws if the URL can't be used as a client ID.
 *
 * List all of the client's redirect URIs in `redirectUris`. For loopback URIs, authorization servers accept any port (RFC 8252 section
 * 7.3).
 */
export const document = (options: {
  readonly metadataUrl: string
  readonly clientName: string
  readonly redirectUris: readonly [string, ...ReadonlyArray<string>]
  /** Public keys for `signingKey`. Without them, the client does not authenticate. */
  readonly jwks?: { readonly keys: ReadonlyArray<object> } | undefined
  /** Additional fields, such as `client_uri` or `logo_uri`. */
  readonly fields?: { readonly [field: string]: unknown } | undefined
}): { readonly [field: string]: unknown } => {
  if (!isDocumentUrl(options.metadataUrl)) throw new Error(`Not an https URL with a path: ${options.metadataUrl}`)
  const wrong = options.redirectUris.find((uri) => !TrustedUrl.isRedirectUri(uri))
  if (wrong !== undefined) throw new Error(`A redirect URI must use https or a loopback address: ${wrong}`)
  return {
    ...options.fields,
    client_id: options.metadataUrl,
    client_name: options.clientName,
    redirect_uris: options.redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: options.jwks === undefined ? "none" : "private_key_jwt",
    ...(options.jwks === undefined ? undefined : { jwks: options.jwks })
  }
}

/** Returns the authentication method to register: "none" if possible, because an application on a user's machine can't keep a secret. */
const wantedMethod = (supported: ReadonlyArray<string> | undefined): Stored.AuthMethod =>
  supported === undefined || supported.includes("none")
    ? "none"
    : supported.includes("client_secret_basic")
      ? "client_secret_basic"
      : "client_secret_post"

/** Registers the client for a redirect URI (RFC 7591). */
export const register = Effect.fnUntraced(function* (
  options: Options,
  request: GrantRequest,
  registrationEndpoint: string,
  redirectUri: string
): Effect.fn.Return<Stored.Registration, OAuthError> {
  const { metadata } = request
  const url = yield* TrustedUrl.check("registration", "`registration_endpoint`", registrationEndpoint, request)
  const redirect = new URL(redirectUri)
  const body = {
    client_name: options.clientName,
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: wantedMethod(metadata.token_endpoint_auth_methods_supported),
    application_type: TrustedUrl.isLoopback(redirect) || redirect.protocol !== "https:" ? "native" : "web",
    // No `scope`: a client that registers one may never be granted another, which rules out stepping up and offline access.
    ...options.registration
  }
  const { status, json } = yield* Fetch.send(
    request.http,
    "registration",
    HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body)
  )
  const response = Option.getOrUndefined(decodeResponse(Metadata.withoutNulls(json)))
  if (status !== 200 && status !== 201)
    return yield* new OAuthError({
      step: "registration",
      problem: "the authorization server refused to register the client",
      url: shown(url),
      status,
      expected: `to be registered as ${body.application_type} with ${excerpt(redirectUri)}`,
      ...TokenEndpoint.refusal(json),
      advice: "Register the client manually, and pass its id in `preRegistered`."
    })
  if (response === undefined)
    return yield* new OAuthError({
      step: "registration",
      problem: "the response is not a registration",
      url: shown(url),
      status,
      expected: "JSON with `client_id`"
    })
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = response
  return {
    clientId: client_id,
    redirectUris: response.redirect_uris ?? [redirectUri],
    ...(client_secret === undefined ? undefined : { clientSecret: Redacted.make(client_secret) }),
    // Zero means that it never expires.
    ...(client_secret_expires_at === undefined || client_secret_expires_at === 0
      ? undefined
      : { expiresAt: client_secret_expires_at * 1000 }),
    ...(isMethod(token_endpoint_auth_method) ? { method: token_endpoint_auth_method } : undefined)
  }
})

const preRegistered = (options: Options, issuer: string): Credentials | undefined =>
  options.preRegistered?.find((credentials) => credentials.issuer === issuer)

const documented = (options: Options, request: GrantRequest): Credentials | undefined =>
  options.metadataUrl !== undefined && request.metadata.client_id_metadata_document_supported === true
    ? { clientId: options.metadataUrl, signingKey: options.signingKey, method: options.signingKey ? undefined : "none" }
    : undefined

/** Returns the client that the tokens were issued to, or `undefined` if it no longer exists. */
export const known = Effect.fnUntraced(function* (
  options: Options,
  request: GrantRequest,
  { clientId, registration }: Pick<Stored.Tokens, "clientId" | "registration">
): Effect.fn.Return<Known | undefined> {
  if (registration !== undefined) return (yield* isCurrent(registration)) ? fromStored(registration) : undefined
  const fixed = preRegistered(options, request.metadata.issuer) ?? documented(options, request)
  return clientId === undefined || fixed?.clientId === clientId ? fixed : undefined
})

/** Deletes the stored registration for an issuer that no longer recognizes the client. */
export const forget = (issuer: string): Effect.Effect<void, OAuthError, TokenStore> =>
  Effect.flatMap(TokenStore, (store) => {
    const slot = Stored.registration(store, issuer)
    return Effect.flatMap(slot.read, ({ value }) => (value === undefined ? Effect.void : slot.write(undefined)))
  })

/** Returns the credentials for this issuer and a flow with `redirectUri`. Registers the client if necessary. */
export const credentials = Effect.fnUntraced(function* (
  options: Options,
  request: GrantRequest,
  redirectUri: string
): Effect.fn.Return<Known, OAuthError, TokenStore> {
  const { issuer, registration_endpoint } = request.metadata
  if (options.metadataUrl !== undefined && !isDocumentUrl(options.metadataUrl))
    return yield* new OAuthError({
      step: "registration",
      problem: "the metadata document's URL cannot be used as a client id",
      expected: "an https URL with a path",
      found: excerpt(options.metadataUrl)
    })
  const fixed = preRegistered(options, issuer) ?? documented(options, request)
  if (fixed !== undefined) return fixed

  const slot = Stored.registration(yield* TokenStore, issuer)
  if (registration_endpoint !== undefined && options.registration !== false) {
    const { value } = yield* slot.read
    if (value?.redirectUris.includes(redirectUri) === true && (yield* isCurrent(value))) return fromStored(value)
    const registered = yield* register(options, request, registration_endpoint, redirectUri)
    yield* slot.write(registered)
    return fromStored(registered)
  }
  const asked = yield* options.ask?.(issuer) ?? Effect.succeed(undefined)
  if (asked !== undefined) {
    const { clientId, clientSecret, method, signingKey } = asked
    // Signing keys are not stored, so the next login asks the user again.
    if (signingKey !== undefined) return asked
    return fromStored({
      clientId,
      redirectUris: [redirectUri],
      ...(clientSecret === undefined ? undefined : { clientSecret }),
      ...(method === undefined ? undefined : { method })
    })
  }
  const others = options.preRegistered?.map((credentials) => credentials.issuer) ?? []
  return yield* new OAuthError({
    step: "registration",
    problem: "the client is not registered with the authorization server and cannot register itself",
    expected: others.length === 0 ? "a pre-registered client" : `one of ${listed(others)}`,
    found: excerpt(issuer),
    advice: "Register the client with this authorization server, and pass its id in `preRegistered`."
  })
})
