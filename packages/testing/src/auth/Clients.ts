/** The test authorization server's clients: registration (RFC 7591), client metadata documents, and authentication. */
import * as Effect from "effect/Effect"
import * as Jose from "jose"
import type * as Model from "./Model.ts"
import { invalidClient, invalidRequest, OAuthRefusal } from "./OAuthError.ts"
import { now, random, type AuthorizationState } from "./State.ts"

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

type Fields = { readonly [name: string]: unknown }
/** A JSON object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isStrings = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((item) => typeof item === "string")
const isMethod = (value: unknown): value is Model.ClientAuthMethod =>
  value === "none" || value === "client_secret_basic" || value === "client_secret_post" || value === "private_key_jwt"
const isKeySet = (value: unknown): value is Jose.JSONWebKeySet => isFields(value) && Array.isArray(value.keys)

const metadataError = (description: string, error = "invalid_client_metadata") =>
  new OAuthRefusal({ error, description })

/** True if the URI may be a redirect: loopback, HTTPS, or an app's private scheme, never plain HTTP elsewhere. */
const isRedirect = (uri: string): boolean => {
  if (!URL.canParse(uri)) return false
  const { hash, hostname, protocol } = new URL(uri)
  if (hash !== "") return false
  if (protocol === "http:") return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return !["javascript:", "data:", "file:"].includes(protocol)
}

/** Checks client metadata from a registration or a document. */
const clientOf = (
  clientId: string,
  metadata: Fields,
  defaultMethod: Model.ClientAuthMethod
): Effect.Effect<Model.RegisteredClient, OAuthRefusal> => {
  const grantTypes = metadata.grant_types ?? ["authorization_code"]
  if (!isStrings(grantTypes)) return Effect.fail(metadataError("grant_types must be strings"))
  const redirectUris = metadata.redirect_uris ?? []
  if (!isStrings(redirectUris) || !redirectUris.every(isRedirect)) {
    return Effect.fail(metadataError("redirect_uris must be loopback or https", "invalid_redirect_uri"))
  }
  if (grantTypes.includes("authorization_code") && redirectUris.length === 0) {
    return Effect.fail(metadataError("redirect_uris is missing", "invalid_redirect_uri"))
  }
  const loopback = redirectUris.some((uri) => uri.startsWith("http:"))
  if (metadata.application_type === "web" && loopback) {
    return Effect.fail(metadataError("A web application redirects to https", "invalid_redirect_uri"))
  }
  const authMethod = metadata.token_endpoint_auth_method ?? defaultMethod
  if (!isMethod(authMethod)) return Effect.fail(metadataError("token_endpoint_auth_method is unknown"))
  const jwks = isKeySet(metadata.jwks) ? metadata.jwks : undefined
  return Effect.succeed({ clientId, authMethod, redirectUris, grantTypes, jwks, metadata })
}

/** Registers a client dynamically (RFC 7591). */
export const register = Effect.fnUntraced(function* (
  state: AuthorizationState,
  body: Fields
): Effect.fn.Return<Fields, OAuthRefusal> {
  const [method = "none"] = state.options.authMethods
  const client = yield* clientOf(random(), body, method)
  if (!state.options.authMethods.includes(client.authMethod)) {
    return yield* metadataError(`${client.authMethod} is not supported`)
  }
  const secret = client.authMethod.startsWith("client_secret") ? random() : undefined
  state.clients.set(client.clientId, { ...client, secret })
  return {
    ...body,
    client_id: client.clientId,
    client_id_issued_at: yield* now,
    token_endpoint_auth_method: client.authMethod,
    grant_types: client.grantTypes,
    ...(secret === undefined ? undefined : { client_secret: secret, client_secret_expires_at: 0 })
  }
})

/** True if a client id is the URL of its metadata: HTTPS with a path. Loopback HTTP is allowed for tests. */
const isDocumentUrl = (clientId: string): boolean => {
  if (!URL.canParse(clientId)) return false
  const { hash, hostname, pathname, password, protocol, username } = new URL(clientId)
  const loopback = protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost")
  return (protocol === "https:" || loopback) && pathname !== "/" && hash === "" && username === "" && password === ""
}

const fetchDocument = (url: string): Effect.Effect<unknown> =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { accept: "application/json" }, redirect: "error" })
    return response.ok ? await response.json() : undefined
  }).pipe(Effect.catchCause(() => Effect.undefined))

/** Finds a client by id: a registered one, or one described by the document at the id's URL. */
export const find = Effect.fnUntraced(function* (
  state: AuthorizationState,
  clientId: string
): Effect.fn.Return<Model.RegisteredClient, OAuthRefusal> {
  const known = state.clients.get(clientId)
  if (known !== undefined) return known
  if (!state.options.documents || !isDocumentUrl(clientId)) return yield* invalidClient("The client is not known")
  const document = yield* (state.script.document ?? fetchDocument)(clientId)
  if (!isFields(document)) return yield* invalidClient("The client's metadata document could not be read")
  if (document.client_id !== clientId) return yield* invalidClient("The document names another client_id")
  if (document.client_secret !== undefined) return yield* invalidClient("A document must not hold a secret")
  return yield* Effect.mapError(clientOf(clientId, document, "none"), ({ description }) => invalidClient(description))
})

const basic = (authorization: string): readonly [id: string, secret: string] | undefined => {
  const [scheme = "", encoded = ""] = authorization.split(" ")
  if (scheme.toLowerCase() !== "basic") return undefined
  const [id = "", secret = ""] = Buffer.from(encoded, "base64").toString().split(":")
  const decode = (text: string) => decodeURIComponent(text.replaceAll("+", " "))
  return [decode(id), decode(secret)]
}

/** Authenticates a token request's client with its registered method. */
export const authenticate = Effect.fnUntraced(function* (
  state: AuthorizationState,
  form: URLSearchParams,
  headers: { readonly [name: string]: string | undefined }
): Effect.fn.Return<Model.RegisteredClient, OAuthRefusal> {
  const { authorization } = headers
  const credentials = authorization === undefined ? undefined : basic(authorization)
  const assertion = form.get("client_assertion")
  const methods = [credentials !== undefined, form.has("client_secret"), assertion !== null].filter(Boolean)
  if (methods.length > 1) return yield* invalidRequest("More than one way of client authentication")
  if (credentials !== undefined) {
    const [id, secret] = credentials
    return yield* check(yield* find(state, id), "client_secret_basic", secret)
  }
  if (assertion !== null) return yield* byAssertion(state, form, assertion)
  const id = form.get("client_id")
  if (id === null) return yield* invalidClient("The client did not say who it is")
  const client = yield* find(state, id)
  const secret = form.get("client_secret")
  return yield* secret === null ? check(client, "none") : check(client, "client_secret_post", secret)
})

const check = (
  client: Model.RegisteredClient,
  method: Model.ClientAuthMethod,
  secret?: string
): Effect.Effect<Model.RegisteredClient, OAuthRefusal> => {
  if (client.authMethod !== method) return Effect.fail(invalidClient(`The client must use ${client.authMethod}`))
  return client.secret === secret ? Effect.succeed(client) : Effect.fail(invalidClient("The secret is wrong"))
}

const byAssertion = Effect.fnUntraced(function* (
  state: AuthorizationState,
  form: URLSearchParams,
  assertion: string
): Effect.fn.Return<Model.RegisteredClient, OAuthRefusal> {
  if (form.get("client_assertion_type") !== assertionType)
    return yield* invalidRequest("client_assertion_type is wrong")
  const id = yield* Effect.try({
    try: () => Jose.decodeJwt(assertion).sub ?? "",
    catch: () => invalidClient("The assertion is no JWT")
  })
  const client = yield* find(state, id)
  const { authMethod, clientId, jwks } = client
  if (authMethod !== "private_key_jwt" || jwks === undefined) {
    return yield* invalidClient(`The client must use ${authMethod}`)
  }
  const currentDate = new Date((yield* now) * 1000)
  const { payload } = yield* Effect.tryPromise({
    try: () =>
      Jose.jwtVerify(assertion, Jose.createLocalJWKSet(jwks), {
        issuer: clientId,
        subject: clientId,
        audience: [state.issuer, `${state.issuer}/token`],
        requiredClaims: ["exp", "jti"],
        currentDate
      }),
    catch: () => invalidClient("The assertion does not verify")
  })
  if (state.seen.has(`${clientId} ${payload.jti}`)) return yield* invalidClient("The assertion was used before")
  state.seen.add(`${clientId} ${payload.jti}`)
  return client
})
