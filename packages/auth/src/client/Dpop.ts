/**
 * Proofs of possession for requests (RFC 9449): keys, proofs, and the nonces that servers issue. `server/Dpop` checks the proofs.
 *
 * A proof is for a single request. It contains the method, the URL, a hash of the token, and a unique ID.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import { OAuthError } from "../shared/OAuthError.ts"
import { sha256 } from "../shared/hash.ts"

/** Algorithms for proofs, in order of preference. All are asymmetric (RFC 9449 section 4.3). */
const algorithms = ["ES256", "EdDSA", "ES384", "ES512", "PS256", "RS256"]

/** A key pair. The private part is a JWK in JSON, which is how it is stored. */
export interface Key {
  readonly algorithm: string
  readonly secret: Redacted.Redacted<string>
  readonly signer: Jose.CryptoKey
  readonly jwk: Jose.JWK
}

const unusable = (cause: unknown) =>
  new OAuthError({ step: "token", problem: "cannot create or read the DPoP key", cause })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: unusable })

/** Returns the preferred algorithm that the authorization server supports, or `undefined` if it supports none of ours. */
export const choose = (supported: ReadonlyArray<string> | undefined): string | undefined =>
  algorithms.find((algorithm) => supported?.includes(algorithm) === true)

const publicPart = ({ kty, crv, x, y, n, e }: Jose.JWK): Jose.JWK =>
  // Picks the public members by name, so that no private one can slip through.
  Object.fromEntries(Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined))

/** Generates a key for an algorithm that `choose` returned. */
export const generate = Effect.fnUntraced(function* (algorithm: string): Effect.fn.Return<Key, OAuthError> {
  const { privateKey } = yield* attempt(() => Jose.generateKeyPair(algorithm, { extractable: true }))
  const jwk = yield* attempt(() => Jose.exportJWK(privateKey))
  const secret = Redacted.make(JSON.stringify({ ...jwk, alg: algorithm }))
  return { algorithm, secret, signer: privateKey, jwk: publicPart(jwk) }
})

/** Cache of restored keys by their stored form, because every request needs one. Restoring is an effect, which `memoize` cannot run. */
const restored = new WeakMap<Redacted.Redacted<string>, Key>()

/** Restores a key from its stored form. Fails if it is not an asymmetric key. */
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

/** Returns the value of the `DPoP` header for one request. */
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

/** The latest nonce from each server. An authorization server and a resource on the same origin have separate nonces. */
export interface Nonces {
  readonly get: (role: "issuer" | "resource", url: URL) => string | undefined
  /** Remembers the nonce in a response's headers. Returns true if it is new. */
  readonly learn: (
    role: "issuer" | "resource",
    url: URL,
    headers: { readonly [name: string]: string | undefined }
  ) => boolean
}

/** Creates an empty nonce store. */
export const nonces = (): Nonces => {
  const known = new Map<string, string>()
  const keyOf = (role: string, url: URL) => `${role} ${url.origin}`
  return {
    get: (role, url) => known.get(keyOf(role, url)),
    learn: (role, url, headers) => {
      const nonce = headers["dpop-nonce"]
      // A nonce consists of visible ASCII characters (RFC 9449 section 8.1).
      if (nonce === undefined || !/^[\x21-\x7e]{1,1024}$/.test(nonce)) return false
      const changed = known.get(keyOf(role, url)) !== nonce
      known.set(keyOf(role, url), nonce)
      return changed
    }
  }
}
