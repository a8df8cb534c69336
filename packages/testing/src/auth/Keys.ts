/** The test authorization server's signing keys: one current key, and older keys that stay published until they are dropped. */
import * as Effect from "effect/Effect"
import * as Jose from "jose"

export type KeyAlgorithm = "ES256" | "RS256" | "EdDSA"

interface Key {
  readonly alg: KeyAlgorithm
  readonly kid: string
  readonly privateKey: Jose.CryptoKey
  readonly publicJwk: Jose.JWK
}

export interface Keys {
  /** The published keys, which verify tokens signed by the current key and by older keys that were kept. */
  readonly published: () => Jose.JSONWebKeySet
  /** Signs with the current key. `header` is added to `alg` and `kid`. */
  readonly sign: (claims: Jose.JWTPayload, header?: { readonly [name: string]: unknown }) => Effect.Effect<string>
  /** Creates a new current key. Older keys stay published if `keep` is true, so that their tokens stay valid. */
  readonly rotate: (options?: { readonly keep?: boolean }) => Effect.Effect<void>
}

export const make = Effect.fnUntraced(function* (alg: KeyAlgorithm): Effect.fn.Return<Keys> {
  let count = 0
  const generate = Effect.promise(async (): Promise<Key> => {
    const { privateKey, publicKey } = await Jose.generateKeyPair(alg, { extractable: true })
    const kid = `key-${++count}`
    return { alg, kid, privateKey, publicJwk: { ...(await Jose.exportJWK(publicKey)), alg, kid, use: "sig" } }
  })
  let current = yield* generate
  let published = [current]
  return {
    published: () => ({ keys: published.map(({ publicJwk }) => publicJwk) }),
    sign: (claims, header) =>
      Effect.promise(() =>
        new Jose.SignJWT(claims)
          .setProtectedHeader({ alg: current.alg, kid: current.kid, ...header })
          .sign(current.privateKey)
      ),
    rotate: ({ keep = true } = {}) =>
      Effect.map(generate, (key) => {
        current = key
        published = keep ? [key, ...published] : [key]
      })
  }
})
