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

/** What we sign with, in the order of preference; `none` and symmetric algorithms are not among them. */
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

/** The first algorithm of ours that the authorization server takes; undefined if it takes none. */
export const choose = (supported: ReadonlyArray<string> | undefined): string | undefined =>
  algorithms.find((algorithm) => supported?.includes(algorithm) === true)

const publicPart = ({ kty, crv, x, y, n, e }: Jose.JWK): Jose.JWK =>
  // The private members are left out by naming the public ones.
  Object.fromEntries(Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined))

/** A new key for an algorithm of `choose`. */
export const generate = Effect.fnUntraced(function* (algorithm: string): Effect.fn.Return<Key, OAuthError> {
  const { privateKey } = yield* attempt(() => Jose.generateKeyPair(algorithm, { extractable: true }))
  const jwk = yield* attempt(() => Jose.exportJWK(privateKey))
  const secret = Redacted.make(JSON.stringify({ ...jwk, alg: algorithm }))
  return { algorithm, secret, signer: privateKey, jwk: publicPart(jwk) }
})

/** Keys that were restored: every request needs one. */
const restored = new WeakMap<Redacted.Redacted<string>, Key>()

/** A stored key. */
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

/** The newest nonce of each server; that of an authorization server and of a resource are two, even at one origin. */
export interface Nonces {
  readonly get: (role: "issuer" | "resource", url: URL) => string | undefined
  /** Takes the nonce out of an answer's headers; true if it brought one that we did not have. */
  readonly learn: (
    role: "issuer" | "resource",
    url: URL,
    headers: { readonly [name: string]: string | undefined }
  ) => boolean
}

/** Remembers nonces, none at first. */
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
