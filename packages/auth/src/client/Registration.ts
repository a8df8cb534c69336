/**
 * The registration of a client at an authorization server: pre-registered, a client id metadata document, dynamic registration (RFC 7591)
 * or credentials that the user enters, in this order.
 *
 * Registrations are stored by issuer and never sent to another one.
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

/** The client, and the kinds of registration that it allows. */
export interface Options {
  /** Shown to the user by authorization servers. */
  readonly clientName: string
  /** Credentials that were registered out of band, by issuer. */
  readonly preRegistered?: ReadonlyArray<PreRegistered> | undefined
  /** The HTTPS URL of the client's metadata document, which is its client id where such documents are supported. */
  readonly metadataUrl?: string | undefined
  /** The key that the metadata document names, if it wants `private_key_jwt`. */
  readonly signingKey?: SigningKey | undefined
  /** More fields of a dynamic registration, such as `client_uri` or `logo_uri`; `false` never registers. Default none. */
  readonly registration?: { readonly [field: string]: unknown } | false | undefined
  /** Asks the user for credentials where no other registration is possible. */
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

/** Whether its secret has not expired. */
const isCurrent = ({ expiresAt }: Stored.Registration): Effect.Effect<boolean> =>
  Effect.map(Clock.currentTimeMillis, (now) => expiresAt === undefined || expiresAt > now)

/** A client id that is the URL of a document: https, with a path, and nothing that could be read in two ways. */
const isDocumentUrl = (text: string): boolean => {
  const url = parseUrl(text)
  return (
    url?.protocol === "https:" && url.pathname !== "/" && url.hash === "" && url.username === "" && url.href === text
  )
}

/**
 * The metadata document of a client, to be served as JSON at `metadataUrl`. Throws on a URL that cannot be a client id.
 *
 * `redirectUris` are all redirect URIs of the client; for those on the loopback interface authorization servers accept any port
 * (RFC 8252 section 7.3).
 */
export const document = (options: {
  readonly metadataUrl: string
  readonly clientName: string
  readonly redirectUris: readonly [string, ...ReadonlyArray<string>]
  /** The public keys of `signingKey`; without them the client does not authenticate. */
  readonly jwks?: { readonly keys: ReadonlyArray<object> } | undefined
  /** More fields, such as `client_uri` or `logo_uri`. */
  readonly fields?: { readonly [field: string]: unknown } | undefined
}): { readonly [field: string]: unknown } => {
  if (!isDocumentUrl(options.metadataUrl)) throw new Error(`Not an https URL with a path: ${options.metadataUrl}`)
  const wrong = options.redirectUris.find((uri) => !TrustedUrl.isRedirectUri(uri))
  if (wrong !== undefined) throw new Error(`Neither https nor on the loopback interface: ${wrong}`)
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

/** The authentication method to register: none if possible, since an application on the user's machine keeps no secret. */
const wantedMethod = (supported: ReadonlyArray<string> | undefined): Stored.AuthMethod =>
  supported === undefined || supported.includes("none")
    ? "none"
    : supported.includes("client_secret_basic")
      ? "client_secret_basic"
      : "client_secret_post"

/** Registers the client (RFC 7591) for one redirect URI. */
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
    // No `scope`: a client that names one may never be granted another, which ends stepping up and offline access.
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
      advice: "Register the client by hand and give its id as a pre-registered one."
    })
  if (response === undefined)
    return yield* new OAuthError({
      step: "registration",
      problem: "the answer is no registration",
      url: shown(url),
      status,
      expected: "JSON with `client_id`"
    })
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = response
  return {
    clientId: client_id,
    redirectUris: response.redirect_uris ?? [redirectUri],
    ...(client_secret === undefined ? undefined : { clientSecret: Redacted.make(client_secret) }),
    // Zero says that it never expires.
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

/** The client that tokens were issued to; undefined if it is not there any more. */
export const known = Effect.fnUntraced(function* (
  options: Options,
  request: GrantRequest,
  { clientId, registration }: Pick<Stored.Tokens, "clientId" | "registration">
): Effect.fn.Return<Known | undefined> {
  if (registration !== undefined) return (yield* isCurrent(registration)) ? fromStored(registration) : undefined
  const fixed = preRegistered(options, request.metadata.issuer) ?? documented(options, request)
  return clientId === undefined || fixed?.clientId === clientId ? fixed : undefined
})

/** Forgets the registration at an issuer that does not know the client any more. */
export const forget = (issuer: string): Effect.Effect<void, OAuthError, TokenStore> =>
  Effect.flatMap(TokenStore, (store) => {
    const slot = Stored.registration(store, issuer)
    return Effect.flatMap(slot.read, ({ value }) => (value === undefined ? Effect.void : slot.write(undefined)))
  })

/** The credentials at this issuer for a flow with `redirectUri`; registers the client where necessary. */
export const credentials = Effect.fnUntraced(function* (
  options: Options,
  request: GrantRequest,
  redirectUri: string
): Effect.fn.Return<Known, OAuthError, TokenStore> {
  const { issuer, registration_endpoint } = request.metadata
  if (options.metadataUrl !== undefined && !isDocumentUrl(options.metadataUrl))
    return yield* new OAuthError({
      step: "registration",
      problem: "the URL of the client's metadata document cannot be a client id",
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
    // The store keeps no signing key: the user is asked again for the next login.
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
    advice:
      "Register the client with this authorization server and give its id as a pre-registered one for this issuer."
  })
})
