/**
 * Proofs of possession for requests (RFC 9449): keys, proofs, and the nonces that servers hand out. `server/Dpop` checks such proofs.
 *
 * A proof is for one request: it names the method, the URL and the token, and has an id of its own.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import { OAuthError } from "../shared/OAuthError.ts"
import { sha256 } from "../shared/hash.ts"

/** The algorithms for proofs, preferred ones first; asymmetric ones only (RFC 9449 section 4.3). */
const algorithms = ["ES256", "EdDSA", "ES384", "ES512", "PS256", "RS256"]

/** A key pair; the private part as a JWK in JSON, as it is stored. */
export interface Key {
  readonly algorithm: string
  readonly secret: Redacted.Redacted<string>
  readonly signer: Jose.CryptoKey
  readonly jwk: Jose.JWK
}

const unusable = (cause: unknown) =>
  new OAuthError({ step: "token", problem: "the key for DPoP cannot be made or read", cause })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: unusable })

/** The preferred algorithm among those that the authorization server supports; undefined if it supports none. */
export const choose = (supported: ReadonlyArray<string> | undefined): string | undefined =>
  algorithms.find((algorithm) => supported?.includes(algorithm) === true)

const publicPart = ({ kty, crv, x, y, n, e }: Jose.JWK): Jose.JWK =>
  // Only public members are named, so that no private one can slip through.
  Object.fromEntries(Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined))

/** A new key for an algorithm of `choose`. */
export const generate = Effect.fnUntraced(function* (algorithm: string): Effect.fn.Return<Key, OAuthError> {
  const { privateKey } = yield* attempt(() => Jose.generateKeyPair(algorithm, { extractable: true }))
  const jwk = yield* attempt(() => Jose.exportJWK(privateKey))
  const secret = Redacted.make(JSON.stringify({ ...jwk, alg: algorithm }))
  return { algorithm, secret, signer: privateKey, jwk: publicPart(jwk) }
})

/** Restored keys by their stored form: every request needs one. */
const restored = new WeakMap<Redacted.Redacted<string>, Key>()

/** The key of its stored form. Fails on one that is no asymmetric key. */
export const restore = Effect.fnUntraced(function* (
  secret: Redacted.Redacted<string>
): Effect.fn.Return<Key, OAuthError> {
  const known = restored.get(secret)
  if (known !== undefined) return known
  const jwk = yield* Effect.try({ try: (): Jose.JWK => JSON.parse(Redacted.value(secret)), catch: unusable })
  const signer = yield* attempt(() => Jose.importJWK(jwk))
  if (signer instanceof Uint8Array || jwk.alg === undefined) return yield* unusable("not an asymmetric key")
  const key: Key = { algorithm: jwk.alg, secret, signer, jwk: publicPart(jwk) }
  restored.set(secret, key)
  return key
})

/** The value of the `DPoP` header for one request. */
export const proof = Effect.fnUntraced(function* (
  key: Key,
  request: {
    readonly method: string
    readonly url: URL
    readonly accessToken?: Redacted.Redacted<string> | undefined
    readonly nonce?: string | undefined
  }
): Effect.fn.Return<string, OAuthError> {
  const iat = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const claims: Jose.JWTPayload = {
    jti: SecureRandom.uuidV4Unsafe(),
    htm: request.method,
    htu: `${request.url.origin}${request.url.pathname}`,
    iat
  }
  if (request.accessToken !== undefined) claims["ath"] = yield* sha256(Redacted.value(request.accessToken))
  if (request.nonce !== undefined) claims["nonce"] = request.nonce
  return yield* attempt(() =>
    new Jose.SignJWT(claims).setProtectedHeader({ typ: "dpop+jwt", alg: key.algorithm, jwk: key.jwk }).sign(key.signer)
  )
})

/** The newest nonce of each server. An authorization server and a resource at one origin have one each. */
export interface Nonces {
  readonly get: (role: "issuer" | "resource", url: URL) => string | undefined
  /** Remembers the nonce in the headers of an answer; true if it is a new one. */
  readonly learn: (
    role: "issuer" | "resource",
    url: URL,
    headers: { readonly [name: string]: string | undefined }
  ) => boolean
}

/** An empty memory of nonces. */
export const nonces = (): Nonces => {
  const known = new Map<string, string>()
  const keyOf = (role: string, url: URL) => `${role} ${url.origin}`
  return {
    get: (role, url) => known.get(keyOf(role, url)),
    learn: (role, url, headers) => {
      const nonce = headers["dpop-nonce"]
      // A nonce is a token of visible characters (RFC 9449 section 8.1).
      if (nonce === undefined || !/^[\x21-\x7e]{1,1024}$/.test(nonce)) return false
      const changed = known.get(keyOf(role, url)) !== nonce
      known.set(keyOf(role, url), nonce)
      return changed
    }
  }
}
