/** Provides a client's login: a token, or the storage that an OAuth login needs. */

import { OAuthError, OAuthErrorCode } from "../../model/oauth.ts"

type Async<A> = A | PromiseLike<A>

/** Metadata that a client registers with (RFC 7591). Other fields are sent unchanged. */
export interface OAuthClientMetadata {
  redirect_uris: Array<string>
  client_name?: string | undefined
  grant_types?: Array<string> | undefined
  response_types?: Array<string> | undefined
  /** Space-separated. */
  scope?: string | undefined
  token_endpoint_auth_method?: string | undefined
  application_type?: string | undefined
  [field: string]: unknown
}

/** A client that is registered with an authorization server. */
export interface OAuthClientInformation {
  client_id: string
  client_secret?: string | undefined
  client_id_issued_at?: number | undefined
  /** In seconds since 1970, or 0 if the secret never expires. */
  client_secret_expires_at?: number | undefined
}

export type OAuthClientInformationFull = OAuthClientMetadata & OAuthClientInformation
export type OAuthClientInformationMixed = OAuthClientInformation | OAuthClientInformationFull

/** A token endpoint's response. */
export interface OAuthTokens {
  access_token: string
  token_type: string
  /** In seconds. */
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  id_token?: string | undefined
}

/** The authorization server that issued a value. The value is never sent to another server. */
interface Stamped {
  issuer?: string | undefined
}

export type StoredOAuthTokens = OAuthTokens & Stamped
export type StoredOAuthClientInformation = OAuthClientInformationMixed & Stamped

/** The authorization server that a value is for. */
export interface OAuthClientInformationContext {
  issuer: string
}

/** Discovery results from before the user was sent away, for the process that receives the answer. */
export interface OAuthDiscoveryState {
  authorizationServerUrl: string
  resourceMetadataUrl?: string | undefined
}

/** Authenticates the client at a token endpoint by changing the headers or parameters of the request. */
export type AddClientAuthentication = (
  headers: Headers,
  params: URLSearchParams,
  url: string | URL,
  metadata?: { issuer: string }
) => Async<void>

/** Stores a login's state, and opens the authorization page. */
export interface OAuthClientProvider {
  /** URL that the authorization page redirects to, or `undefined` for a client without a user. */
  get redirectUrl(): string | URL | undefined
  get clientMetadata(): OAuthClientMetadata
  /** HTTPS URL of the client's metadata document. It serves as the client id if the authorization server supports such documents. */
  clientMetadataUrl?: string | undefined
  state?(): Async<string>
  clientInformation(ctx?: OAuthClientInformationContext): Async<StoredOAuthClientInformation | undefined>
  /** If omitted, the client does not register. */
  saveClientInformation?(information: StoredOAuthClientInformation, ctx?: OAuthClientInformationContext): Async<void>
  /** Without a context, returns the tokens that were saved last. */
  tokens(ctx?: OAuthClientInformationContext): Async<StoredOAuthTokens | undefined>
  saveTokens(tokens: StoredOAuthTokens, ctx?: OAuthClientInformationContext): Async<void>
  redirectToAuthorization(url: URL): Async<void>
  saveCodeVerifier(verifier: string): Async<void>
  codeVerifier(): Async<string>
  addClientAuthentication?: AddClientAuthentication | undefined
  validateResourceURL?(server: string | URL, resource?: string): Promise<URL | undefined>
  /** The `scope` parameter for a refresh. Default: omitted, which keeps the granted scopes. */
  scopeForRefresh?(tokens: StoredOAuthTokens): Async<string | undefined>
  /** Discards credentials that the authorization server no longer accepts. */
  invalidateCredentials?(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Async<void>
  /** The grant and its parameters, for a client without a user. */
  prepareTokenRequest?(scope?: string): Async<URLSearchParams | undefined>
  saveAuthorizationServerUrl?(url: string): Async<void>
  saveResourceUrl?(url: string): Async<void>
  saveDiscoveryState?(state: OAuthDiscoveryState): Async<void>
  discoveryState?(): Async<OAuthDiscoveryState | undefined>
}

export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface AuthOptions {
  serverUrl: string | URL
  /** Code from the authorization page. Without it, tokens are refreshed or the page is opened. */
  authorizationCode?: string | undefined
  /** The `iss` that came with the code (RFC 9207). If null, as in v1 programs, which cannot supply it, it is not checked. */
  iss?: string | null | undefined
  /** Space-separated. Default: the scopes of the server's metadata, else the scopes of the client's metadata. */
  scope?: string | undefined
  /** URL of the server's metadata, as named by a rejected request. */
  resourceMetadataUrl?: URL | undefined
  fetchFn?: FetchLike | undefined
  /** Whether to ask the user even if there is a refresh token. Default false. */
  forceReauthorization?: boolean | undefined
}

/** `AUTHORIZED` if the provider has tokens now, `REDIRECT` if the user was sent to the authorization server. */
export type AuthResult = "AUTHORIZED" | "REDIRECT"

/** A request that was rejected with 401. */
export interface UnauthorizedContext {
  response: Response
  serverUrl: URL
  fetchFn: FetchLike
}

/** Supplies an access token, and can get another when the server rejects it. */
export interface AuthProvider {
  token(): Async<string | undefined>
  /** Called after a 401. The request is then sent once more. */
  onUnauthorized?(ctx: UnauthorizedContext): Promise<void>
}

export const isOAuthProvider = (provider: AuthProvider | OAuthClientProvider): provider is OAuthClientProvider =>
  "tokens" in provider && "clientMetadata" in provider

const isDocumentUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" && url.pathname !== "/"
}

/** Throws if a URL cannot be a client id. */
export const validateClientMetadataUrl = (url: string | undefined): void => {
  if (url !== undefined && !isDocumentUrl(url)) {
    const message = `clientMetadataUrl must be an https URL with a path, but is ${url}`
    throw new OAuthError(OAuthErrorCode.InvalidClientMetadata, message)
  }
}
