/** What a program gives for the login of its client: a token, or the places where an OAuth login keeps what it needs. */

import { OAuthError, OAuthErrorCode } from "../../model/oauth.ts"

type Async<A> = A | PromiseLike<A>

/** Metadata of a client, as it registers (RFC 7591). Other fields are sent as they are. */
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

/** A client that an authorization server knows. */
export interface OAuthClientInformation {
  client_id: string
  client_secret?: string | undefined
  client_id_issued_at?: number | undefined
  /** In seconds since 1970; 0 for a secret that never expires. */
  client_secret_expires_at?: number | undefined
}

export type OAuthClientInformationFull = OAuthClientMetadata & OAuthClientInformation
export type OAuthClientInformationMixed = OAuthClientInformation | OAuthClientInformationFull

/** The answer of a token endpoint. */
export interface OAuthTokens {
  access_token: string
  token_type: string
  /** In seconds. */
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  id_token?: string | undefined
}

/** The authorization server that issued a value: it is sent to no other. */
interface Stamped {
  issuer?: string | undefined
}

export type StoredOAuthTokens = OAuthTokens & Stamped
export type StoredOAuthClientInformation = OAuthClientInformationMixed & Stamped

/** The authorization server that a value is for. */
export interface OAuthClientInformationContext {
  issuer: string
}

/** What was found out before the user was sent away, for the process that gets the answer. */
export interface OAuthDiscoveryState {
  authorizationServerUrl: string
  resourceMetadataUrl?: string | undefined
}

/** Authenticates the client at a token endpoint: changes headers or parameters of the request. */
export type AddClientAuthentication = (
  headers: Headers,
  params: URLSearchParams,
  url: string | URL,
  metadata?: { issuer: string }
) => Async<void>

/** Where a login keeps its state, and how it opens the page of the authorization server. */
export interface OAuthClientProvider {
  /** Where the page leads back to; undefined for a client without a user. */
  get redirectUrl(): string | URL | undefined
  get clientMetadata(): OAuthClientMetadata
  /** The https URL of the client's metadata document, which is its id where such documents are supported. */
  clientMetadataUrl?: string | undefined
  state?(): Async<string>
  clientInformation(ctx?: OAuthClientInformationContext): Async<StoredOAuthClientInformation | undefined>
  /** Without it the client does not register. */
  saveClientInformation?(information: StoredOAuthClientInformation, ctx?: OAuthClientInformationContext): Async<void>
  /** Without a context: the tokens that were saved last. */
  tokens(ctx?: OAuthClientInformationContext): Async<StoredOAuthTokens | undefined>
  saveTokens(tokens: StoredOAuthTokens, ctx?: OAuthClientInformationContext): Async<void>
  redirectToAuthorization(url: URL): Async<void>
  saveCodeVerifier(verifier: string): Async<void>
  codeVerifier(): Async<string>
  addClientAuthentication?: AddClientAuthentication | undefined
  validateResourceURL?(server: string | URL, resource?: string): Promise<URL | undefined>
  /** The `scope` of a refresh; default none, which keeps what was granted. */
  scopeForRefresh?(tokens: StoredOAuthTokens): Async<string | undefined>
  /** Forgets what the authorization server does not accept any more. */
  invalidateCredentials?(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Async<void>
  /** The grant of a client without a user, and its parameters. */
  prepareTokenRequest?(scope?: string): Async<URLSearchParams | undefined>
  saveAuthorizationServerUrl?(url: string): Async<void>
  saveResourceUrl?(url: string): Async<void>
  saveDiscoveryState?(state: OAuthDiscoveryState): Async<void>
  discoveryState?(): Async<OAuthDiscoveryState | undefined>
}

export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface AuthOptions {
  serverUrl: string | URL
  /** The code that the page of the authorization server gave; without it tokens are refreshed, or the page is opened. */
  authorizationCode?: string | undefined
  /** The `iss` that came with the code (RFC 9207); null where the program cannot tell it, as in v1: then it is not checked. */
  iss?: string | null | undefined
  /** Space-separated. Default: those of the server's metadata, else those of the client's. */
  scope?: string | undefined
  /** The URL of the server's metadata, as a refusal named it. */
  resourceMetadataUrl?: URL | undefined
  fetchFn?: FetchLike | undefined
  /** Default false: a refresh token is used where there is one. */
  forceReauthorization?: boolean | undefined
}

/** Whether the provider has tokens now, or the user was sent to the authorization server. */
export type AuthResult = "AUTHORIZED" | "REDIRECT"

/** A request that was refused with 401. */
export interface UnauthorizedContext {
  response: Response
  serverUrl: URL
  fetchFn: FetchLike
}

/** Gives an access token, and may get another when the server refuses it. */
export interface AuthProvider {
  token(): Async<string | undefined>
  /** Called after a 401; the request is sent once more. */
  onUnauthorized?(ctx: UnauthorizedContext): Promise<void>
}

export const isOAuthProvider = (provider: AuthProvider | OAuthClientProvider): provider is OAuthClientProvider =>
  "tokens" in provider && "clientMetadata" in provider

const isDocumentUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" && url.pathname !== "/"
}

/** Throws for a URL that cannot be the id of a client. */
export const validateClientMetadataUrl = (url: string | undefined): void => {
  if (url !== undefined && !isDocumentUrl(url)) {
    const message = `clientMetadataUrl is ${url}; expected an https URL with a path`
    throw new OAuthError(OAuthErrorCode.InvalidClientMetadata, message)
  }
}
