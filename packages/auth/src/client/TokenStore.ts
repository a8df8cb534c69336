/**
 * Stores a client's tokens and registrations: text by key, replaced by compare-and-swap.
 *
 * `TokenLock` uses `read` and `swap` to make sure that fibers and processes refresh a token only once. `Stored` defines the format of the
 * text. This module contains an in-memory store and encryption for any store; `TokenFiles` stores on disk.
 */
import * as Context from "effect/Context"
import * as Aead from "effect/crypto/Aead"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { OAuthError } from "../shared/OAuthError.ts"

/** A text with its version, which counts replacements. Version 0 means nothing has been stored yet. */
export interface Versioned {
  readonly version: number
  /** The text, or `undefined` if there is none for the key. */
  readonly text: string | undefined
}

/** Stores texts by key, each with a version. */
export class TokenStore extends Context.Service<
  TokenStore,
  {
    readonly read: (key: string) => Effect.Effect<Versioned, OAuthError>
    /**
     * Replaces the text if its version is still `version`. Returns true only if it was replaced. May return false if the new text was
     * itself replaced in the meantime.
     */
    readonly swap: (key: string, version: number, text: string | undefined) => Effect.Effect<boolean, OAuthError>
  }
>()("@effect-mcp/auth/TokenStore") {}

/** Creates an empty in-memory store. */
export const makeMemory = (): TokenStore["Service"] => {
  const entries = new Map<string, Versioned>()
  const read = (key: string) => entries.get(key) ?? { version: 0, text: undefined }
  return TokenStore.of({
    read: (key) => Effect.sync(() => read(key)),
    swap: (key, version, text) =>
      Effect.sync(() => {
        if (read(key).version !== version) return false
        entries.set(key, { version: version + 1, text })
        return true
      })
  })
}

/** Provides an in-memory store, which is lost when the process ends. */
export const layerMemory: Layer.Layer<TokenStore> = Layer.sync(TokenStore, makeMemory)

/** Returns the part of a store that `names` selects. Parts with different names share no entries. */
export const partOf = (store: TokenStore["Service"], ...names: ReadonlyArray<string>): TokenStore["Service"] => {
  const inside = (key: string) => JSON.stringify(["of", ...names, key])
  return TokenStore.of({
    read: (key) => store.read(inside(key)),
    swap: (key, version, text) => store.swap(inside(key), version, text)
  })
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true })
const nonceLength = Aead.aes256Gcm.nonceLength

/**
 * Encrypts a store's texts with AES-256-GCM. The key must be 32 bytes. Reading fails with an `OAuthError` if a text was modified, moved
 * from another entry, or encrypted with a different key. Restoring an older text of the same entry is not detected.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import { Effect, Layer, Redacted } from "effect"
 * import { Aead, SecureRandom } from "effect/crypto"
 *
 * const program = Effect.gen(function* () {
 *   const plain = TokenStore.makeMemory()
 *   const store = yield* TokenStore.encrypted(plain, Redacted.make(new Uint8Array(32)))
 *   yield* store.swap("key", 0, "secret")
 *   console.log((yield* store.read("key")).text)
 *   console.log((yield* plain.read("key")).text === "secret")
 * })
 *
 * const crypto = Aead.layerWebCrypto.pipe(Layer.provideMerge(SecureRandom.layerWebCrypto))
 * await Effect.runPromise(Effect.provide(program, crypto))
 * // => secret
 * // => false
 * ```
 */
export const encrypted = Effect.fnUntraced(function* (
  store: TokenStore["Service"],
  key: Redacted.Redacted<Uint8Array>
): Effect.fn.Return<TokenStore["Service"], OAuthError, Aead.Aead | SecureRandom.SecureRandom> {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom.SecureRandom
  const wrong = (problem: string, advice?: string) => (cause: unknown) =>
    new OAuthError({ step: "storage", problem, advice, cause })
  const secret = yield* Effect.mapError(
    Aead.key(Aead.aes256Gcm, Redacted.value(key)),
    wrong("the encrypted store's key must be exactly 32 bytes long")
  )
  const unreadable = wrong(
    "cannot decrypt the stored tokens: they were encrypted with a different key, or modified",
    "Use the original key, or remove them from the store and log in again."
  )

  return TokenStore.of({
    read: Effect.fnUntraced(function* (name) {
      const { version, text } = yield* store.read(name)
      if (text === undefined) return { version, text }
      const opened = yield* Effect.gen(function* () {
        const bytes = yield* Effect.fromResult(Base64Url.decode(text))
        const nonce = bytes.subarray(0, nonceLength)
        const plain = yield* aead.decrypt(secret, bytes.subarray(nonceLength), { nonce, aad: encoder.encode(name) })
        return yield* Effect.try({ try: () => decoder.decode(plain), catch: unreadable })
      }).pipe(Effect.mapError((cause) => (cause instanceof OAuthError ? cause : unreadable(cause))))
      return { version, text: opened }
    }),
    swap: Effect.fnUntraced(function* (name, version, text) {
      if (text === undefined) return yield* store.swap(name, version, text)
      const nonce = yield* random.randomBytes(nonceLength)
      const sealed = yield* Effect.orDie(
        aead.encrypt(secret, encoder.encode(text), { nonce, aad: encoder.encode(name) })
      )
      const bytes = new Uint8Array(nonceLength + sealed.length)
      bytes.set(nonce)
      bytes.set(sealed, nonceLength)
      return yield* store.swap(name, version, Base64Url.encode(bytes))
    })
  })
})

const crypto = Aead.layerWebCrypto.pipe(Layer.provideMerge(SecureRandom.layerWebCrypto))

/** Encrypts the store provided to this layer; see `encrypted`. Fails if the key is not 32 bytes. */
export const layerEncrypted = (key: Redacted.Redacted<Uint8Array>): Layer.Layer<TokenStore, OAuthError, TokenStore> =>
  Layer.provide(
    Layer.effect(
      TokenStore,
      Effect.flatMap(TokenStore, (store) => encrypted(store, key))
    ),
    crypto
  )
