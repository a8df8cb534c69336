/**
 * A `TokenVerifier` for access tokens that are JWTs (RFC 9068, RFC 8725), by the public keys of their issuer.
 *
 * Owns the signature: which algorithms are accepted (asymmetric ones only: neither `none` nor a shared secret can be named), which key made
 * it, and that the token is an access token. `Auth` checks the claims.
 */
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

/** Asymmetric algorithms of JWS. */
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

/** The algorithms that are accepted by default: all of `Algorithm`. */
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

/** Which signatures and types of tokens are accepted, and where the keys are. */
export interface Options extends Jwks.Options {
  /** Accepted signature algorithms. Default `defaultAlgorithms`. */
  readonly algorithms?: ReadonlyArray<Algorithm> | undefined
  /** Accepted values of `typ` in the header. Default `at+jwt`, `jwt` or none: JWTs of other kinds are no access tokens. */
  readonly types?: ReadonlyArray<string | undefined> | undefined
  /**
   * How many verified tokens are kept in memory, so that each signature is checked once per set of keys: a check costs more than a whole
   * request. The claims are checked every time. Default 1000; 0 keeps none.
   */
  readonly remembered?: number | undefined
}

/** The source of keys: `Jwks`, or a fixed set. */
type Keys = Jwks.Jwks["get"]

const invalid = (step: string, expected: string, found: unknown) =>
  new InvalidToken({ step, expected, found: shown(found), remedy: "Get a new token from the authorization server." })

const malformed = invalid("Reading the token", "a JWT", "something else")

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
  const known = new Map<string, { readonly iss: string; readonly set: Jose.LocalJWKSet; readonly claims: Claims }>()

  /** Whether one of the keys made the signature; undefined where none has the key id or type of the token. */
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
      return yield* invalid("Checking the signature's algorithm", algorithms.join(" or "), alg)
    }
    if (!types.includes(typeOf(header.typ))) return yield* invalid("Checking the token's type", "at+jwt", header.typ)
    // Not verified yet: it only selects one of the issuers that the resource names.
    const { iss } = claims
    if (typeof iss !== "string" || !issuers.includes(iss)) {
      return yield* invalid("Checking the issuer", issuers.join(" or "), iss)
    }
    let set = yield* keys(iss)
    let holds = yield* signed(token, set)
    if (holds === undefined) {
      // The key may be newer than the set.
      set = yield* keys(iss, { unknownKey: set })
      holds = yield* signed(token, set)
    }
    if (holds === undefined) return yield* invalid("Looking for the token's key", "a key of the issuer", header.kid)
    if (!holds) return yield* invalid("Checking the signature", "one by a key of the issuer", "another")
    // Only introspection can tell the end of a token without `exp`.
    if (typeof claims.exp !== "number") return yield* invalid("Checking the expiry", "exp", claims.exp)
    known.delete(token)
    known.set(token, { iss, set, claims: frozen(claims) })
    const [oldest] = known.keys()
    if (known.size > remembered && oldest !== undefined) known.delete(oldest)
    return claims
  })
  return { verify }
}

/**
 * Verifies JWTs by the keys of their issuers: `jwks_uri` of the metadata (RFC 8414), or `jwksUri`. The keys are fetched when the first
 * token arrives; while they cannot be fetched, requests are answered with 503.
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

/** Verifies JWTs by fixed keys, which are those of every issuer. Dies on a malformed key set. */
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
