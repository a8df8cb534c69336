/** State shared by a test authorization server's endpoints, and functions that create tokens. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Jose from "jose"
import * as Keys from "./Keys.ts"
import type * as Model from "./Model.ts"

/** Returns an unguessable name. */
export const random = (): string => Jose.base64url.encode(crypto.getRandomValues(new Uint8Array(24)))

/** Returns SHA-256 in base64url, as used for code challenges and `ath`. */
export const digest = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => Jose.base64url.encode(new Uint8Array(bytes))
  )

/** Seconds since 1970 on the Clock, so that tests can let tokens expire. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

const honest: Model.AuthorizationScript = {
  approve: () => ({ subject: "alice" }),
  metadata: (document) => document,
  redirect: () => {},
  claims: (_, claims) => claims,
  intercept: () => Effect.void.pipe(Effect.as(undefined)),
  document: undefined,
  dpopNonce: undefined,
  lifetime: 3600
}

/** The options with their defaults. */
type Settings = {
  readonly [K in Exclude<keyof Model.Options, "script" | "path" | "audience">]-?: NonNullable<Model.Options[K]>
} & { readonly audience: string | undefined }

export interface AuthorizationState {
  readonly issuer: string
  readonly options: Settings
  readonly keys: Keys.Keys
  script: Model.AuthorizationScript
  readonly clients: Map<string, Model.RegisteredClient>
  readonly codes: Map<string, Model.IssuedCode>
  readonly accessTokens: Map<string, Model.AccessToken>
  readonly refreshTokens: Map<string, Model.RefreshToken>
  /** Keys of other issuers whose assertions are accepted. */
  readonly trusted: Map<string, Jose.JSONWebKeySet>
  /** The `jti` values of used proofs and assertions. */
  readonly seen: Set<string>
  readonly requests: Array<Model.RecordedRequest>
}

export const make = Effect.fnUntraced(function* (
  issuer: string,
  options: Model.Options
): Effect.fn.Return<AuthorizationState> {
  return {
    issuer,
    options: {
      discovery: options.discovery ?? ["oauth", "openid"],
      algorithm: options.algorithm ?? "ES256",
      tokens: options.tokens ?? "jwt",
      scopes: options.scopes ?? [],
      audience: options.audience,
      refreshTokens: options.refreshTokens ?? "always",
      dpop: options.dpop ?? "optional",
      registration: options.registration ?? true,
      documents: options.documents ?? true,
      authMethods: options.authMethods ?? ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
    },
    keys: yield* Keys.make(options.algorithm ?? "ES256"),
    script: { ...honest, ...options.script },
    clients: new Map(),
    codes: new Map(),
    accessTokens: new Map(),
    refreshTokens: new Map(),
    trusted: new Map(),
    seen: new Set(),
    requests: []
  }
})

/** Signs the claims of a token, after changes by the script. */
export const sign = (
  state: AuthorizationState,
  kind: Model.TokenKind,
  claims: Jose.JWTPayload,
  header: { readonly [name: string]: unknown }
): Effect.Effect<string> => state.keys.sign(state.script.claims(kind, claims), header)

/** Issues an access token for a grant. */
export const accessToken = Effect.fnUntraced(function* (
  state: AuthorizationState,
  grant: Model.IssuedGrant,
  lifetime = state.script.lifetime,
  type = "at+jwt"
): Effect.fn.Return<string> {
  const issued = yield* now
  const record: Model.AccessToken = { ...grant, jti: random(), issued, expires: issued + lifetime, revoked: false }
  const token =
    state.options.tokens === "opaque"
      ? random()
      : yield* sign(state, "access_token", { ...claimsOf(state, record), nbf: issued }, { typ: type })
  state.accessTokens.set(token, record)
  return token
})

/** Returns the claims of an access token, for a JWT or for introspection. */
export const claimsOf = (state: AuthorizationState, token: Model.AccessToken): Jose.JWTPayload => {
  const { resources, scopes } = token
  const [audience = state.options.audience ?? state.issuer, ...more] = resources
  return {
    iss: state.issuer,
    sub: token.subject,
    aud: more.length === 0 ? audience : [audience, ...more],
    client_id: token.clientId,
    ...(scopes.length === 0 ? undefined : { scope: scopes.join(" ") }),
    ...(token.jkt === undefined ? undefined : { cnf: { jkt: token.jkt } }),
    iat: token.issued,
    exp: token.expires,
    jti: token.jti
  }
}

/** Revokes all tokens from one approval. */
export const endFamily = (state: AuthorizationState, family: string): void => {
  for (const token of state.accessTokens.values()) if (token.family === family) token.revoked = true
  for (const [key, token] of state.refreshTokens) if (token.family === family) state.refreshTokens.delete(key)
}
