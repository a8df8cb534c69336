/** The AEAD behind `StateSeal`: AES-256-GCM on Web Crypto. Loaded when the first handler asks. */
import * as Clock from "effect/Clock"
import * as Aead from "effect/crypto/Aead"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { RoundJournal } from "./Journal.ts"
import { invalidState, type Options, type SealingKey, StateSeal } from "./StateSealService.ts"

const Payload = Schema.fromJsonString(
  Schema.Struct({ journal: RoundJournal, jti: Schema.String, expires: Schema.Finite })
)
const encodePayload = Schema.encodeEffect(Payload)
const decodePayload = Schema.decodeUnknownEffect(Payload)

const version = "1"
const nonceLength = Aead.aes256Gcm.nonceLength
const encoder = new TextEncoder()
const decoder = new TextDecoder()

const make = Effect.fnUntraced(function* (
  keys: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options
): Effect.fn.Return<StateSeal["Service"], never, Aead.Aead | SecureRandom.SecureRandom> {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom.SecureRandom
  const ttl = Duration.toMillis(Duration.fromInputUnsafe(options.timeToLive ?? "1 hour"))
  const ring = new Map<string, Aead.Key>()
  for (const { id, key } of keys) {
    // The id travels between dots.
    if (!/^[A-Za-z0-9_-]+$/.test(id))
      return yield* Effect.die(new Error(`The id of a key is of A-Z a-z 0-9 _ - : ${id}`))
    ring.set(id, yield* Effect.orDie(Aead.key(Aead.aes256Gcm, Redacted.value(key))))
  }
  const [current] = keys

  const associated = (keyId: string, binding: string) => encoder.encode(JSON.stringify([version, keyId, binding]))

  return StateSeal.of({
    seal: Effect.fnUntraced(
      function* (journal, binding) {
        const nonce = yield* random.randomBytes(nonceLength)
        const jti = Base64Url.encode(yield* random.randomBytes(12))
        const expires = (yield* Clock.currentTimeMillis) + ttl
        const plaintext = encoder.encode(yield* encodePayload({ journal, jti, expires }))
        const key = ring.get(current.id)
        if (key === undefined) return yield* Effect.die(new Error("The sealing key is gone"))
        const sealed = yield* aead.encrypt(key, plaintext, { nonce, aad: associated(current.id, binding) })
        return [version, current.id, Base64Url.encode(nonce), Base64Url.encode(sealed)].join(".")
      },
      (effect) => Effect.orDie(effect)
    ),
    open: Effect.fnUntraced(
      function* (state, binding) {
        const [stated, keyId = "", nonceText = "", sealedText = "", ...rest] = state.split(".")
        const key = ring.get(keyId)
        if (stated !== version || key === undefined || rest.length > 0) return yield* invalidState()
        const nonce = yield* Effect.fromResult(Base64Url.decode(nonceText))
        const sealed = yield* Effect.fromResult(Base64Url.decode(sealedText))
        // Only canonical Base64: else unused bits of the last letter could be changed unnoticed.
        if (Base64Url.encode(nonce) !== nonceText || Base64Url.encode(sealed) !== sealedText)
          return yield* invalidState()
        const opened = yield* aead.decrypt(key, sealed, { nonce, aad: associated(keyId, binding) })
        const payload = yield* decodePayload(decoder.decode(opened))
        return payload.expires > (yield* Clock.currentTimeMillis) ? payload : yield* invalidState()
      },
      (effect) => Effect.mapError(effect, invalidState)
    )
  })
})

const crypto: Layer.Layer<Aead.Aead | SecureRandom.SecureRandom> = Aead.layerWebCrypto.pipe(
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

export const layer = (
  keys: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options
): Layer.Layer<StateSeal> => Layer.provide(Layer.effect(StateSeal, make(keys, options)), crypto)

export const layerRandom = (options: Options): Layer.Layer<StateSeal> =>
  Layer.provide(
    Layer.effect(
      StateSeal,
      Effect.gen(function* () {
        const random = yield* SecureRandom.SecureRandom
        const key = yield* Effect.orDie(random.randomBytes(Aead.aes256Gcm.keyLength))
        return yield* make([{ id: "process", key: Redacted.make(key) }], options)
      })
    ),
    crypto
  )
