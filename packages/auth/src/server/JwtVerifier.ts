/**
 * A `TokenVerifier` for JWT access tokens (RFC 9068, RFC 8725). It verifies their signatures with the issuer's public keys.
 *
 * Checks the algorithm, the signature and the token type. All accepted algorithms are asymmetric, so a token can't select `none` or a
 * shared secret. `Auth` checks the claims.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068 JWT Profile for OAuth 2.0 Access Tokens
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import * as Jwks from "./Jwks.ts"
import {
  type Claims,
  type Expected,
  frozen,
  InvalidToken,
  shown,
  TokenVerifier,
  type VerifierUnavailable
} from "./TokenVerifier.ts"

/** An asymmetric signature algorithm (JWS). */
export type Algorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"
  | "Ed25519"

/** Algorithms accepted by default: every `Algorithm`. */
export const defaultAlgorithms: ReadonlyArray<Algorithm> = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519"
]

/** Options for verifying JWTs. */
export interface Options extends Jwks.Options {
  /** Accepted signature algorithms. Default: `defaultAlgorithms`. */
  readonly algorithms?: ReadonlyArray<Algorithm> | undefined
  /** Accepted values of the token's `typ` header. Default: `at+jwt`, `jwt` and `undefined`; other types are not access tokens. */
  readonly types?: ReadonlyArray<string | undefined> | undefined
  /**
   * Number of verified tokens to remember, so that each token's signature is only checked once per key set. Checking a signature costs more
   * than the rest of the request. Claims are still checked on every request. Default 1000; 0 remembers none.
   */
  readonly remembered?: number | undefined
}

type Keys = Jwks.Jwks["get"]

const invalid = (step: string, expected: string, found: unknown) =>
  new InvalidToken({ step, expected, found: shown(found), remedy: "Get a new token from the authorization server." })

const malformed = invalid("Malformed token", "a JWT", "text that is not a JWT")

const parse = (token: string): { readonly header: Jose.ProtectedHeaderParameters; readonly claims: Claims } => ({
  header: Jose.decodeProtectedHeader(token),
  claims: Jose.decodeJwt(token)
})

const typeOf = (typ: unknown): unknown =>
  typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : typ

const verifier = (keys: Keys, options: Options): TokenVerifier["Service"] => {
  const algorithms: ReadonlyArray<string> = options.algorithms ?? defaultAlgorithms
  const types: ReadonlyArray<unknown> = options.types ?? ["at+jwt", "jwt", undefined]
  const { remembered = 1000 } = options
  const known = new BoundedMap<
    string,
    { readonly iss: string; readonly set: Jose.LocalJWKSet; readonly claims: Claims }
  >(remembered)

  /** True if one of the keys signed the token, or `undefined` if none has the token's key ID and type. */
  const signed = (token: string, set: Jose.LocalJWKSet): Effect.Effect<boolean | undefined> =>
    Effect.promise(async () => {
      const check = async (key: Jose.JWTVerifyGetKey | Jose.CryptoKey): Promise<boolean | undefined> => {
        try {
          await (typeof key === "function"
            ? Jose.compactVerify(token, key, { algorithms: [...algorithms] })
            : Jose.compactVerify(token, key, { algorithms: [...algorithms] }))
          return true
        } catch (error) {
          if (error instanceof Jose.errors.JWKSNoMatchingKey) return undefined
          if (!(error instanceof Jose.errors.JWKSMultipleMatchingKeys)) return false
          for await (const candidate of error) if ((await check(candidate)) === true) return true
          return false
        }
      }
      return await check(set)
    })

  const verify = Effect.fnUntraced(function* (
    redacted: Redacted.Redacted<string>,
    { issuers }: Expected
  ): Effect.fn.Return<Claims, InvalidToken | VerifierUnavailable> {
    const token = Redacted.value(redacted)
    const before = known.get(token)
    if (before !== undefined && issuers.includes(before.iss) && (yield* keys(before.iss)) === before.set) {
      return before.claims
    }
    const { claims, header } = yield* Effect.try({ try: () => parse(token), catch: () => malformed })
    const { alg } = header
    if (typeof alg !== "string" || !algorithms.includes(alg)) {
      return yield* invalid("Unsupported signature algorithm", algorithms.join(" or "), alg)
    }
    if (!types.includes(typeOf(header.typ))) return yield* invalid("Unsupported token type", "at+jwt", header.typ)
    // Not verified yet, but it can only select one of the configured issuers.
    const { iss } = claims
    if (typeof iss !== "string" || !issuers.includes(iss)) {
      return yield* invalid("Invalid issuer", issuers.join(" or "), iss)
    }
    let set = yield* keys(iss)
    let holds = yield* signed(token, set)
    if (holds === undefined) {
      // The issuer may have added the key after the last fetch.
      set = yield* keys(iss, { unknownKey: set })
      holds = yield* signed(token, set)
    }
    if (holds === undefined) return yield* invalid("Unknown signing key", "one of the issuer's keys", header.kid)
    if (!holds)
      return yield* invalid("Invalid signature", "a signature by one of the issuer's keys", "a different signature")
    // Without `exp` the token would never expire: only introspection can end it.
    if (typeof claims.exp !== "number") return yield* invalid("Missing expiration time", "exp", claims.exp)
    known.set(token, { iss, set, claims: frozen(claims) })
    return claims
  })
  return { verify }
}

/**
 * Provides a JWT verifier. When the first token arrives, it fetches the issuer's keys from `jwksUri`, or else from `jwks_uri` in the
 * issuer's metadata. While the keys cannot be fetched, requests receive a 503.
 *
 * @example
 * ```ts
 * import { Auth, JwtVerifier } from "@effect-mcp/auth"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const auth = Auth.layer({
 *   resource: "https://files.example.com/mcp",
 *   authorizationServers: ["https://login.example.com"]
 * }).pipe(Layer.provide(JwtVerifier.layer({ algorithms: ["ES256"] })), Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<TokenVerifier, never, HttpClient.HttpClient> =>
  Layer.effect(
    TokenVerifier,
    Effect.map(HttpClient.HttpClient, (http) => verifier(Jwks.make(http, options).get, options))
  )

/** Provides a JWT verifier that uses the same fixed keys for every issuer. Dies if the key set is malformed. */
export const layerKeys = (
  keys: Jose.JSONWebKeySet,
  options: Pick<Options, "algorithms" | "types" | "remembered"> = {}
): Layer.Layer<TokenVerifier> =>
  Layer.effect(
    TokenVerifier,
    Effect.sync(() => {
      const set = Jose.createLocalJWKSet(keys)
      return verifier(() => Effect.succeed(set), options)
    })
  )
