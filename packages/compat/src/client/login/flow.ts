/**
 * Logs in a client whose provider keeps the state: from the server's metadata to tokens, in one call, or in two with the authorization
 * page in between. Uses the discovery, registration and requests of `@effect-mcp/auth`.
 */
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as ClientIdentity from "@effect-mcp/auth/client/ClientIdentity"
import type { GrantRequest } from "@effect-mcp/auth/client/Grant"
import * as MetadataDiscovery from "@effect-mcp/auth/client/MetadataDiscovery"
import * as Registration from "@effect-mcp/auth/client/Registration"
import * as TokenEndpoint from "@effect-mcp/auth/client/TokenEndpoint"
import { OAuthError as LibraryError } from "@effect-mcp/auth/OAuthError"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { memoize } from "effect/Function"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Redacted from "effect/Redacted"
import { UnauthorizedError } from "../../model/errors.ts"
import {
  AuthorizationServerMismatchError,
  IssuerMismatchError,
  OAuthClientFlowError,
  OAuthError,
  RegistrationRejectedError
} from "../../model/oauth.ts"
import {
  type AuthOptions,
  type AuthResult,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  type StoredOAuthClientInformation,
  validateClientMetadataUrl
} from "./provider.ts"

/** Converts an error from the auth library to the SDK's error. Keeps the authorization server's error code, if any. */
const toThrown = (error: unknown): unknown => {
  if (!(error instanceof LibraryError)) return error
  const { code, message, status, step } = error
  if (step === "registration" && status !== undefined) return new RegistrationRejectedError(message, status)
  return code === undefined ? new OAuthClientFlowError(message) : new OAuthError(code, message)
}

/** Values that one call of `auth` works with. */
interface Flow {
  readonly provider: OAuthClientProvider
  readonly options: AuthOptions
  readonly request: GrantRequest
  readonly issuer: string
  readonly scope: string | undefined
  readonly run: <A>(effect: Effect.Effect<A, LibraryError>) => Promise<A>
}

const runner =
  ({ fetchFn = globalThis.fetch }: AuthOptions): Flow["run"] =>
  async (effect) => {
    const fetch: typeof globalThis.fetch = (input, init) => fetchFn(input instanceof Request ? input.url : input, init)
    try {
      return await Effect.runPromise(Effect.provideService(effect, FetchHttpClient.Fetch, fetch))
    } catch (error) {
      throw toThrown(error)
    }
  }

/** Returns the scopes to request. Adds `offline_access` if the client refreshes tokens and the authorization server supports that scope. */
const scopeOf = (
  { clientMetadata }: OAuthClientProvider,
  { scope }: AuthOptions,
  supported: ReadonlyArray<string> | undefined,
  { scopes_supported }: GrantRequest["metadata"]
): string | undefined => {
  // An empty list of scopes in the metadata is treated like a missing list.
  const wanted = [scope, supported?.join(" "), clientMetadata.scope].find((scopes) => scopes)
  const refreshes = clientMetadata.grant_types?.includes("refresh_token") === true
  if (wanted === undefined) return undefined
  if (!refreshes || scopes_supported?.includes("offline_access") !== true) return wanted
  return [...new Set([...wanted.split(" "), "offline_access"])].join(" ")
}

/** True if both values name the same authorization server. Values stored by the SDK may end in a slash that the metadata lack. */
const isSameIssuer = (one: string, other: string): boolean => one.replace(/\/$/, "") === other.replace(/\/$/, "")

/** Where each provider's user was last sent, for providers that do not save `discoveryState`. */
const visitOf = memoize<OAuthClientProvider, { last?: OAuthDiscoveryState }>(() => ({}))

/** Finds the authorization server. For an answer, this is the server that the user was sent to. */
const found = async (provider: OAuthClientProvider, options: AuthOptions, isAnswered: boolean): Promise<Flow> => {
  const run = runner(options)
  const server = new URL(options.serverUrl)
  const saved = isAnswered ? ((await provider.discoveryState?.()) ?? visitOf(provider).last) : undefined
  const http = await run(Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer))
  const discovery = { http, server, protocolVersion: "2025-11-25", fallback: true }
  const challenged = options.resourceMetadataUrl?.href ?? saved?.resourceMetadataUrl
  const resource = await run(MetadataDiscovery.resource(discovery, challenged))
  const recorded = saved?.authorizationServerUrl ?? resource.issuers[0]
  const issuer = resource.issuers.find((named) => isSameIssuer(named, recorded))
  if (issuer === undefined) throw new AuthorizationServerMismatchError(recorded, resource.issuers[0])
  const metadata = await run(MetadataDiscovery.server(discovery, issuer, resource.indicator === undefined))
  await provider.saveAuthorizationServerUrl?.(issuer)
  const indicator = provider.validateResourceURL
    ? (await provider.validateResourceURL(server, resource.indicator))?.href
    : resource.indicator
  if (indicator !== undefined) await provider.saveResourceUrl?.(indicator)
  const scope = scopeOf(provider, options, resource.scopes, metadata)
  const request = { ...discovery, metadata, resource: indicator, scopes: scope?.split(" "), binding: undefined }
  return { provider, options, request, issuer, scope, run }
}

const isCurrent = ({ client_secret_expires_at: end = 0 }: { client_secret_expires_at?: number | undefined }): boolean =>
  end === 0 || end > Date.now() / 1000

/** Registers the client with all of its metadata. */
const registered = async (flow: Flow, redirectUri: string | URL | undefined): Promise<OAuthClientInformationMixed> => {
  const { provider, request, run } = flow
  const endpoint = request.metadata.registration_endpoint
  const { clientMetadata } = provider
  if (endpoint === undefined || provider.saveClientInformation === undefined || redirectUri === undefined) {
    throw new OAuthClientFlowError(
      `The client is not registered with ${flow.issuer}. Return its client_id from clientInformation()${endpoint === undefined ? "" : ", or implement saveClientInformation() and redirectUrl to register it automatically"}`
    )
  }
  const options = { clientName: clientMetadata.client_name ?? "MCP client", registration: clientMetadata }
  const made = await run(Registration.register(options, request, endpoint, String(redirectUri)))
  return {
    ...clientMetadata,
    client_id: made.clientId,
    redirect_uris: [...made.redirectUris],
    ...(made.clientSecret === undefined ? undefined : { client_secret: Redacted.value(made.clientSecret) }),
    ...(made.expiresAt === undefined ? undefined : { client_secret_expires_at: made.expiresAt / 1000 }),
    ...(made.method === undefined ? undefined : { token_endpoint_auth_method: made.method })
  }
}

/** Returns the client at this authorization server: from the provider, from its metadata document, or by registering. */
const clientOf = async (flow: Flow): Promise<StoredOAuthClientInformation> => {
  const { issuer, options, provider, request } = flow
  // JSON storage returns null for a client that it does not have.
  const known = (await provider.clientInformation({ issuer })) ?? undefined
  const isIts = known !== undefined && isSameIssuer(known.issuer ?? issuer, issuer)
  if (isIts && isCurrent(known)) return known
  const registers = provider.saveClientInformation !== undefined && provider.redirectUrl !== undefined
  if (known?.issuer !== undefined && !isIts && !registers) {
    throw new AuthorizationServerMismatchError(known.issuer, issuer)
  }
  if (options.authorizationCode !== undefined) {
    throw new OAuthClientFlowError(
      `Cannot exchange the authorization code with ${issuer}: clientInformation() returned no client`
    )
  }
  const { clientMetadataUrl, clientMetadata } = provider
  validateClientMetadataUrl(clientMetadataUrl)
  const documented = request.metadata.client_id_metadata_document_supported === true ? clientMetadataUrl : undefined
  const redirectUri = provider.redirectUrl ?? clientMetadata.redirect_uris[0]
  const made = documented === undefined ? await registered(flow, redirectUri) : { client_id: documented }
  const stamped = { ...made, issuer }
  await provider.saveClientInformation?.(stamped, { issuer })
  return stamped
}

const methods = ["none", "client_secret_basic", "client_secret_post"] as const

/** Authenticates a token request, with the provider's function or the client's secret. */
const authenticate = async (
  { provider, request, run }: Flow,
  client: StoredOAuthClientInformation,
  url: URL,
  params: URLSearchParams
): Promise<Headers> => {
  const headers = new Headers()
  if (provider.addClientAuthentication) {
    await provider.addClientAuthentication(headers, params, url, request.metadata)
    return headers
  }
  const registeredMethod = "token_endpoint_auth_method" in client ? client.token_endpoint_auth_method : undefined
  const proof = await run(
    ClientIdentity.prove(
      {
        clientId: client.client_id,
        clientSecret: client.client_secret === undefined ? undefined : Redacted.make(client.client_secret),
        method: methods.find((method) => method === registeredMethod)
      },
      request.metadata
    )
  )
  for (const [name, value] of Object.entries(proof.parameters)) params.set(name, value)
  for (const [name, value] of Object.entries(proof.headers)) headers.set(name, value)
  return headers
}

/** Binds a client that was saved without an authorization server to the first server that accepts it. */
const bind = async (provider: OAuthClientProvider, client: StoredOAuthClientInformation, issuer: string) => {
  try {
    await provider.saveClientInformation?.(client, { issuer })
  } catch {
    // The provider may expect this call only after a registration.
  }
}

/**
 * Requests tokens and has the provider save them. A refresh passes the old tokens as `before`, to keep the values that the answer omits.
 */
const request = async (
  flow: Flow,
  client: StoredOAuthClientInformation,
  given: URLSearchParams,
  before?: OAuthTokens
): Promise<AuthResult> => {
  const { issuer, provider, request, run } = flow
  const params = new URLSearchParams(given)
  if (request.resource !== undefined) params.set("resource", request.resource)
  const url = await run(TokenEndpoint.endpoint(request))
  const headers = await authenticate(flow, client, url, params)
  const answer = await run(
    TokenEndpoint.ask(request, "token", url, Object.fromEntries(params), Object.fromEntries(headers))
  )
  const { token_type = "Bearer" } = answer
  if (token_type.toLowerCase() !== "bearer") {
    throw new OAuthClientFlowError(`${issuer} issued a token of type ${token_type}; expected Bearer`)
  }
  const kept = before && { refresh_token: before.refresh_token, scope: given.get("scope") ?? before.scope }
  await provider.saveTokens({ ...kept, ...answer, token_type, issuer }, { issuer })
  if (client.issuer === undefined) await bind(provider, { ...client, issuer }, issuer)
  return "AUTHORIZED"
}

/** Errors that do not concern the refresh token. Asking the user would be useless or premature. */
const unrelated: ReadonlySet<string> = new Set([
  "invalid_client",
  "server_error",
  "temporarily_unavailable",
  "too_many_requests",
  "unauthorized_client"
])

/** Refreshes the tokens. Returns `undefined` if there is no refresh token, or if the authorization server rejects it. */
const refreshed = async (flow: Flow, client: StoredOAuthClientInformation): Promise<AuthResult | undefined> => {
  const { issuer, options, provider } = flow
  const tokens = await provider.tokens({ issuer })
  if (tokens?.refresh_token === undefined || options.forceReauthorization === true) return undefined
  if (!isSameIssuer(tokens.issuer ?? issuer, issuer)) return undefined
  const params = new URLSearchParams({ grant_type: "refresh_token", refresh_token: tokens.refresh_token })
  const scope = await provider.scopeForRefresh?.(tokens)
  if (scope !== undefined && scope !== "") params.set("scope", scope)
  try {
    return await request(flow, client, params, tokens)
  } catch (error) {
    if (!(error instanceof OAuthError) || unrelated.has(error.code)) throw error
    const now = await provider.tokens({ issuer })
    // Another process has used the refresh token and saved the new tokens.
    if (now?.refresh_token !== undefined && now.refresh_token !== tokens.refresh_token) return "AUTHORIZED"
    if (error.code === "invalid_grant") await provider.invalidateCredentials?.("tokens")
    return undefined
  }
}

/** Sends the user to the authorization page. */
const redirect = async (flow: Flow, page: URL, { client_id }: OAuthClientInformationMixed): Promise<AuthResult> => {
  const { issuer, options, provider, request, run, scope } = flow
  const redirectUri = String(provider.redirectUrl)
  const verifier = Base64Url.encode(SecureRandom.randomBytesUnsafe(32))
  const state = await provider.state?.()
  const url = await run(
    AuthorizationCode.pageFor(page, request, { clientId: client_id, redirectUri, state, verifier, scope })
  )
  await provider.saveCodeVerifier(verifier)
  const named = options.resourceMetadataUrl && { resourceMetadataUrl: options.resourceMetadataUrl.href }
  const discovered = { authorizationServerUrl: issuer, ...named }
  visitOf(provider).last = discovered
  await provider.saveDiscoveryState?.(discovered)
  await provider.redirectToAuthorization(url)
  return "REDIRECT"
}

/** Returns the parameters of a token request: from the provider, for a code, or for a client without a user. */
const parameters = async ({ options, provider, scope }: Flow): Promise<URLSearchParams> => {
  const prepared = await provider.prepareTokenRequest?.(scope)
  if (prepared !== undefined) return prepared
  const { authorizationCode: code } = options
  if (code !== undefined) {
    const redirect_uri = String(provider.redirectUrl)
    const code_verifier = await provider.codeVerifier()
    return new URLSearchParams({ grant_type: "authorization_code", code, code_verifier, redirect_uri })
  }
  if (provider.clientMetadata.grant_types?.includes("client_credentials") === true) {
    return new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) })
  }
  throw new OAuthClientFlowError(
    "A provider without a redirectUrl must implement prepareTokenRequest() or list client_credentials in grant_types"
  )
}

/** Rejects an answer that does not come from the authorization server that the user was sent to (RFC 9207, compared by code units). */
const checkIssuer = ({ issuer, options: { iss }, request }: Flow): void => {
  const required = request.metadata.authorization_response_iss_parameter_supported === true
  if (iss === undefined ? required : iss !== null && iss !== issuer) {
    throw new IssuerMismatchError(
      `The authorization response ${iss === undefined ? "has no iss parameter" : "has the wrong iss"}; expected ${issuer}. The code was not used`
    )
  }
}

const attempt = async (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> => {
  const flow = await found(provider, options, options.authorizationCode !== undefined)
  const { run } = flow
  if (options.authorizationCode !== undefined) {
    checkIssuer(flow)
    return request(flow, await clientOf(flow), await parameters(flow))
  }
  if (provider.redirectUrl === undefined) return request(flow, await clientOf(flow), await parameters(flow))
  const page = await run(AuthorizationCode.page(flow.request))
  await run(AuthorizationCode.secureRedirect(String(provider.redirectUrl)))
  const client = await clientOf(flow)
  return (await refreshed(flow, client)) ?? redirect(flow, page, client)
}

/** Credentials to discard when the authorization server returns this error code. */
const voided: ReadonlyMap<string, "all" | "tokens"> = new Map([
  ["invalid_client", "all"],
  ["unauthorized_client", "all"],
  ["invalid_grant", "tokens"]
])

/** The SDK's `auth`: discards credentials that the authorization server no longer accepts, and tries once more without them. */
export const login = async (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> => {
  try {
    return await attempt(provider, options)
  } catch (error) {
    const forgotten = error instanceof OAuthError ? voided.get(error.code) : undefined
    if (forgotten === undefined || provider.invalidateCredentials === undefined) throw error
    const hasCode = options.authorizationCode !== undefined
    // A rejected code proves nothing about the tokens: it may be a second answer of the same login.
    if (hasCode && forgotten === "tokens") throw error
    await provider.invalidateCredentials(forgotten)
    // A code can be used only once.
    if (hasCode) throw error
    return attempt(provider, options)
  }
}

/** Returns the error of an answer without a code. Checks the issuer before showing its text, which may come from another server. */
export const refusal = async (
  provider: OAuthClientProvider,
  options: AuthOptions,
  answer: URLSearchParams
): Promise<Error> => {
  checkIssuer(await found(provider, options, true))
  const error = answer.get("error")
  if (error === null) return new UnauthorizedError("The authorization response has no code")
  const description = excerpt(answer.get("error_description") ?? error)
  return new OAuthError(excerpt(error), description, answer.get("error_uri") ?? undefined)
}
