/**
 * Verifies access tokens that are JWTs (RFC 9068, RFC 8725) by the public keys of their issuer.
 *
 * Owns the signature: which algorithms count (asymmetric ones only: neither `none` nor a shared secret can be named), which key it is,
 * and that the token is an access token. The claims are checked by `Auth`.
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

/** All of `Algorithm`. */
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

/** Which signatures count, and where the keys are. */
export interface Options extends Jwks.Options {
  /** Signature algorithms that count. Default all asymmetric ones. */
  readonly algorithms?: ReadonlyArray<Algorithm> | undefined
  /** What `typ` of the header may be. Default `at+jwt`, `jwt` or nothing: other kinds of JWTs are never access tokens. */
  readonly types?: ReadonlyArray<string | undefined> | undefined
  /**
   * Signatures that are remembered, with their tokens in this process's memory, for as long as the issuer's keys are the same: to check
   * one costs more than a whole request. What the claims say is checked every time. Default 1000; 0 remembers none.
   */
  readonly remembered?: number | undefined
}

/** Where keys come from: `Jwks`, or a fixed set. */
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

  /** Whether one of the keys made the signature; undefined when none of them could have. */
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
    // Not trusted before the signature holds; it only chooses among issuers that are.
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
    // Introspected tokens may leave their end to the authorization server; nobody else can tell when this one ends.
    if (typeof claims.exp !== "number") return yield* invalid("Checking the expiry", "exp", claims.exp)
    known.delete(token)
    known.set(token, { iss, set, claims: frozen(claims) })
    const [oldest] = known.keys()
    if (known.size > remembered && oldest !== undefined) known.delete(oldest)
    return claims
  })
  return { verify }
}

/** Keys from the issuers' metadata, or from `jwksUri`. */
export const layer = (options: Options = {}): Layer.Layer<TokenVerifier, never, HttpClient.HttpClient> =>
  Layer.effect(
    TokenVerifier,
    Effect.map(HttpClient.HttpClient, (http) => verifier(Jwks.make(http, options).get, options))
  )

/** Keys that are known beforehand, whoever of the issuers signs; rotating them means a new layer. Dies on what is no key set. */
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
