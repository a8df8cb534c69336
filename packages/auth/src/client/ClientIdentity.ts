/**
 * A client's identity at one authorization server, and its authentication at the token endpoint (OAuth 2.1 section 2.4, RFC 7523).
 *
 * Chooses the authentication method and builds its parameters. Credentials belong to one issuer and are never sent to another.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import { formEncoded } from "../shared/hash.ts"
import type * as Metadata from "../shared/Metadata.ts"
import { OAuthError } from "../shared/OAuthError.ts"
import type { AuthMethod, Registration } from "./Stored.ts"

/** A private key for `private_key_jwt`: PKCS #8 in PEM, or a JWK in JSON. */
export interface SigningKey {
  readonly key: Redacted.Redacted<string>
  /** The JWS algorithm, such as ES256 or RS256. */
  readonly algorithm: string
  readonly keyId?: string | undefined
}

/** A client ID, with the secret or key that proves it. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret?: Redacted.Redacted<string> | undefined
  readonly signingKey?: SigningKey | undefined
  /** Authentication method. Defaults to the first one that both the credentials and the authorization server support. */
  readonly method?: AuthMethod | undefined
}

/** Credentials with their dynamic registration, which is stored with the tokens because refreshing needs it. */
export interface Known extends Credentials {
  readonly registration?: Registration | undefined
}

/** Credentials registered out of band. `issuer` is spelled exactly as in the authorization server's metadata. */
export interface PreRegistered extends Credentials {
  readonly issuer: string
}

/** Returns the authentication method for these credentials at this authorization server. */
export const methodOf = (credentials: Credentials, metadata: Metadata.AuthorizationServer): AuthMethod => {
  const supported = metadata.token_endpoint_auth_methods_supported
  const takes = (method: AuthMethod) => supported === undefined || supported.includes(method)
  if (credentials.method !== undefined && (takes(credentials.method) || credentials.method === "none"))
    return credentials.method
  if (credentials.signingKey !== undefined && takes("private_key_jwt")) return "private_key_jwt"
  // Every authorization server supports Basic unless its metadata list other methods (RFC 8414 section 2).
  if (credentials.clientSecret !== undefined) {
    if (takes("client_secret_basic")) return "client_secret_basic"
    if (takes("client_secret_post")) return "client_secret_post"
  }
  return "none"
}

/** The parameters and headers that authenticate a request to the token endpoint. */
export interface Proof {
  readonly parameters: { readonly [name: string]: string }
  readonly headers: { readonly [name: string]: string }
}

const missing = (what: string, clientId: string) =>
  new OAuthError({
    step: "token",
    problem: `the client ${clientId} has no ${what} to authenticate with`,
    advice: "Add the secret or key that the authorization server requires to `credentials`."
  })

const assertion = Effect.fnUntraced(function* (
  clientId: string,
  { key, algorithm, keyId }: SigningKey,
  issuer: string
): Effect.fn.Return<string, OAuthError> {
  const iat = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return yield* Effect.tryPromise({
    try: async () => {
      const text = Redacted.value(key).trim()
      const signer = text.startsWith("{")
        ? await Jose.importJWK(JSON.parse(text), algorithm)
        : await Jose.importPKCS8(text, algorithm)
      return await new Jose.SignJWT({
        iss: clientId,
        sub: clientId,
        aud: issuer,
        jti: SecureRandom.uuidV4Unsafe(),
        iat,
        exp: iat + 60
      })
        .setProtectedHeader({ alg: algorithm, ...(keyId === undefined ? undefined : { kid: keyId }) })
        .sign(signer)
    },
    // The cause is dropped: it may quote the key.
    catch: () =>
      new OAuthError({
        step: "token",
        problem: `the private key of the client ${clientId} cannot sign`,
        expected: `a PKCS #8 PEM or a JWK, for ${algorithm}`
      })
  })
})

/** Authenticates the client at this authorization server. Fails if the secret or key is missing. */
export const prove = Effect.fnUntraced(function* (
  credentials: Credentials,
  metadata: Metadata.AuthorizationServer
): Effect.fn.Return<Proof, OAuthError> {
  const { clientId, clientSecret, signingKey } = credentials
  const method = methodOf(credentials, metadata)
  if (method === "none") return { parameters: { client_id: clientId }, headers: {} }
  if (method === "private_key_jwt") {
    if (signingKey === undefined) return yield* missing("private key", clientId)
    const parameters = {
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: yield* assertion(clientId, signingKey, metadata.issuer)
    }
    return { parameters, headers: {} }
  }
  if (clientSecret === undefined) return yield* missing("secret", clientId)
  const secret = Redacted.value(clientSecret)
  if (method === "client_secret_post")
    return { parameters: { client_id: clientId, client_secret: secret }, headers: {} }
  const authorization = `Basic ${Base64.encode(`${formEncoded(clientId)}:${formEncoded(secret)}`)}`
  return { parameters: {}, headers: { authorization } }
})
