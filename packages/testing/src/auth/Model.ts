/**
 * The data of the authorization server of the tests: clients, grants, tokens, the script of its behaviour, and the record of its
 * requests.
 */
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
  /** Keys of a client that authenticates by `private_key_jwt`. */
  readonly jwks?: Jose.JSONWebKeySet | undefined
  /** The metadata of the client, from its registration or its document. */
  readonly metadata: { readonly [name: string]: unknown }
}

/** A grant: from the approval of the user to the tokens. */
export interface IssuedGrant {
  readonly subject: string
  readonly clientId: string
  readonly scopes: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  /** Thumbprint of the key that the tokens are bound to (RFC 9449). */
  readonly jkt?: string | undefined
  /** All tokens that descend from one approval. */
  readonly family: string
}

export interface IssuedCode extends IssuedGrant {
  readonly redirectUri: string
  readonly challenge: string
  readonly expires: number
  used: boolean
}

export interface RefreshToken extends IssuedGrant {
  /** Whether it was exchanged for another: a second use revokes the whole family. */
  rotated: boolean
}

export interface AccessToken extends IssuedGrant {
  readonly jti: string
  readonly issued: number
  readonly expires: number
  revoked: boolean
}

/** Every kind of request; those of the token endpoint go by their grant. */
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

/** One request that the server got. */
export interface RecordedRequest {
  readonly kind: RequestKind
  readonly path: string
  /** Query or form, whichever the endpoint reads; of a registration the JSON body. */
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

/** How the server behaves; every field can be changed while it runs. By default the server is honest and the user approves. */
export interface AuthorizationScript {
  /** The decision of the user. Default: `alice` approves all scopes. */
  readonly approve: (request: AuthorizationRequest) => Approval
  /** Changes what the metadata say: leave out `code_challenge_methods_supported`, name another issuer. */
  readonly metadata: (document: { readonly [name: string]: unknown }) => { readonly [name: string]: unknown }
  /** Changes the parameters of the redirect back to the client: drop or forge `iss`, `state`, `code`. */
  readonly redirect: (params: URLSearchParams) => void
  /** Changes the claims of a token before it is signed. */
  readonly claims: (kind: TokenKind, claims: Jose.JWTPayload) => Jose.JWTPayload
  /** Runs before each request is served, and may answer it: statuses, delays, invalid bodies. */
  readonly intercept: (request: RecordedRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse | undefined>
  /** The document behind a Client ID Metadata Document's URL. Default: it is fetched. */
  readonly document: ((url: string) => Effect.Effect<unknown>) | undefined
  /** The nonce that DPoP proofs must carry (RFC 9449 section 8). Default none. */
  readonly dpopNonce: string | undefined
  /** Seconds until an access token expires. Default 3600. */
  readonly lifetime: number
}

export interface Options {
  /** Path of the issuer, such as `/tenant1`. Default none. */
  readonly path?: string | undefined
  /** Where metadata are found. Default: OAuth and OpenID, both inserted before the path. */
  readonly discovery?: ReadonlyArray<"oauth" | "openid" | "openid-appended"> | undefined
  /** Default `ES256`. */
  readonly algorithm?: KeyAlgorithm | undefined
  /** Whether access tokens are JWTs (RFC 9068, default) or opaque. */
  readonly tokens?: "jwt" | "opaque" | undefined
  /** What `scopes_supported` lists, and what a request without scopes gets. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Audience of tokens for requests that name no resource. Default the issuer. */
  readonly audience?: string | undefined
  /** When refresh tokens are issued. Default whenever the client's grant types include them. */
  readonly refreshTokens?: "always" | "offline_access" | "never" | undefined
  /** Whether proofs of possession are taken, or needed. Default `optional`. */
  readonly dpop?: "off" | "optional" | "required" | undefined
  /** Whether unknown clients may register. Default yes. */
  readonly registration?: boolean | undefined
  /** Whether a client id may be the URL of a document. Default yes. */
  readonly documents?: boolean | undefined
  /** What the token endpoint takes, and what a registration without a wish gets: the first. */
  readonly authMethods?: ReadonlyArray<ClientAuthMethod> | undefined
  /** How the server behaves at first. */
  readonly script?: Partial<AuthorizationScript> | undefined
}
