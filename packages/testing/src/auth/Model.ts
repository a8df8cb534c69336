/** The test authorization server's data: clients, grants, tokens, the script that controls its behavior, and the request log. */
import type * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Jose from "jose"
import type { KeyAlgorithm } from "./Keys.ts"

export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt"

export interface RegisteredClient {
  readonly clientId: string
  readonly secret?: string | undefined
  readonly authMethod: ClientAuthMethod
  readonly redirectUris: ReadonlyArray<string>
  readonly grantTypes: ReadonlyArray<string>
  /** Keys for a client that authenticates with `private_key_jwt`. */
  readonly jwks?: Jose.JSONWebKeySet | undefined
  /** The client's metadata, from its registration or its document. */
  readonly metadata: { readonly [name: string]: unknown }
}

/** A grant, from the user's approval to the tokens. */
export interface IssuedGrant {
  readonly subject: string
  readonly clientId: string
  readonly scopes: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  /** Thumbprint of the key that the tokens are bound to (RFC 9449). */
  readonly jkt?: string | undefined
  /** Groups all tokens from one approval. */
  readonly family: string
}

export interface IssuedCode extends IssuedGrant {
  readonly redirectUri: string
  readonly challenge: string
  readonly expires: number
  used: boolean
}

export interface RefreshToken extends IssuedGrant {
  /** True once it has been exchanged. Using it again revokes the whole family. */
  rotated: boolean
}

export interface AccessToken extends IssuedGrant {
  readonly jti: string
  readonly issued: number
  readonly expires: number
  revoked: boolean
}

/** Request kinds. Token endpoint requests are named after their grant. */
export type RequestKind =
  | "metadata"
  | "jwks"
  | "authorize"
  | "register"
  | "introspect"
  | "revoke"
  | "authorization_code"
  | "refresh_token"
  | "client_credentials"
  | "token_exchange"
  | "jwt_bearer"
  | "unknown_grant"

/** A received request. */
export interface RecordedRequest {
  readonly kind: RequestKind
  readonly path: string
  /** The query or the form, depending on the endpoint, or the JSON body of a registration. */
  readonly params: { readonly [name: string]: unknown }
  readonly headers: { readonly [name: string]: string | undefined }
}

export interface AuthorizationRequest {
  readonly client: RegisteredClient
  readonly scopes: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly redirectUri: string
}

export type Approval =
  | { readonly subject: string; readonly scopes?: ReadonlyArray<string> }
  | { readonly error: string; readonly description?: string }

export type TokenKind = "access_token" | "id_token" | "id_jag"

/**
 * The server's behavior. Every field can be changed while the server is running. By default, the server is honest and the user approves.
 */
export interface AuthorizationScript {
  /** The user's decision. Default: `alice` approves all scopes. */
  readonly approve: (request: AuthorizationRequest) => Approval
  /** Changes the metadata, for example to omit `code_challenge_methods_supported` or to name a different issuer. */
  readonly metadata: (document: { readonly [name: string]: unknown }) => { readonly [name: string]: unknown }
  /** Changes the parameters of the redirect to the client, for example to drop or forge `iss`, `state` or `code`. */
  readonly redirect: (params: URLSearchParams) => void
  /** Changes a token's claims before it is signed. */
  readonly claims: (kind: TokenKind, claims: Jose.JWTPayload) => Jose.JWTPayload
  /** Runs before each request. Return a response to override the server's own, with any status, delay or invalid body. */
  readonly intercept: (request: RecordedRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse | undefined>
  /** Returns the document at the URL of a Client ID Metadata Document. Default: fetches it. */
  readonly document: ((url: string) => Effect.Effect<unknown>) | undefined
  /** Nonce that DPoP proofs must include (RFC 9449 section 8). Default: none. */
  readonly dpopNonce: string | undefined
  /** Access token lifetime in seconds. Default 3600. */
  readonly lifetime: number
}

export interface Options {
  /** Path component of the issuer, such as `/tenant1`. Default: none. */
  readonly path?: string | undefined
  /** Locations at which to serve metadata. Default: the OAuth and OpenID locations, both inserted before the path. */
  readonly discovery?: ReadonlyArray<"oauth" | "openid" | "openid-appended"> | undefined
  /** Signature algorithm. Default `ES256`. */
  readonly algorithm?: KeyAlgorithm | undefined
  /** Access token format: JWTs (RFC 9068) or opaque strings. Default `jwt`. */
  readonly tokens?: "jwt" | "opaque" | undefined
  /** Scopes listed in `scopes_supported`. They are also granted to requests that don't specify any. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Token audience for requests that don't name a resource. Default: the issuer. */
  readonly audience?: string | undefined
  /** When to issue refresh tokens. Default: if the client's grant types include them. */
  readonly refreshTokens?: "always" | "offline_access" | "never" | undefined
  /** Support for DPoP proofs of possession. Default `optional`. */
  readonly dpop?: "off" | "optional" | "required" | undefined
  /** Whether to let unknown clients register. Default true. */
  readonly registration?: boolean | undefined
  /** Whether to accept a document URL as a client ID. Default true. */
  readonly documents?: boolean | undefined
  /** Authentication methods the token endpoint accepts. A registration that doesn't specify one receives the first. */
  readonly authMethods?: ReadonlyArray<ClientAuthMethod> | undefined
  /** The server's initial behavior. */
  readonly script?: Partial<AuthorizationScript> | undefined
}
