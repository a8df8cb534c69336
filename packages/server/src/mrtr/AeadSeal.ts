/** The AEAD behind `StateSeal`: AES-256-GCM on Web Crypto. Loaded when the first handler asks. */
import { decodeUrl, encodeUrl } from "@effect-mcp/protocol/internal/base64"
import * as Clock from "effect/Clock"
import * as Aead from "effect/crypto/Aead"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { RoundJournal } from "./Journal.ts"
import { invalidState, type Options, type SealingKey, StateSeal } from "./StateSealService.ts"

const Payload = Schema.Struct({ journal: RoundJournal, jti: Schema.String, expires: Schema.Finite })
const encodePayload = Schema.encodeEffect(Payload)
const decodePayload = Schema.decodeUnknownEffect(Payload)

const version = "1"
const nonceLength = Aead.aes256Gcm.nonceLength
const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface Key {
  readonly id: string
  readonly bytes: Uint8Array
}

const make = Effect.fnUntraced(function* (
  keys: readonly [Key, ...ReadonlyArray<Key>],
  options: Options
): Effect.fn.Return<StateSeal["Service"], never, Aead.Aead | SecureRandom.SecureRandom> {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom.SecureRandom
  const ttl = Duration.toMillis(Duration.fromInputUnsafe(options.timeToLive ?? "1 hour"))
  const ring = new Map<string, Aead.Key>()
  for (const { id, bytes } of keys) {
    // The id travels between dots.
    if (!/^[A-Za-z0-9_-]+$/.test(id))
      return yield* Effect.die(new Error(`The id of a key is of A-Z a-z 0-9 _ - : ${id}`))
    ring.set(id, yield* Effect.orDie(Aead.key(Aead.aes256Gcm, bytes)))
  }
  const [current] = keys

  const associated = (keyId: string, binding: string) => encoder.encode(JSON.stringify([version, keyId, binding]))

  return StateSeal.of({
    seal: Effect.fnUntraced(
      function* (journal, binding) {
        const nonce = yield* random.randomBytes(nonceLength)
        const jti = encodeUrl(yield* random.randomBytes(12))
        const expires = (yield* Clock.currentTimeMillis) + ttl
        const plaintext = encoder.encode(JSON.stringify(yield* encodePayload({ journal, jti, expires })))
        const key = ring.get(current.id)
        if (key === undefined) return yield* Effect.die(new Error("The sealing key is gone"))
        const sealed = yield* aead.encrypt(key, plaintext, { nonce, aad: associated(current.id, binding) })
        return [version, current.id, encodeUrl(nonce), encodeUrl(sealed)].join(".")
      },
      (effect) => Effect.orDie(effect)
    ),
    open: Effect.fnUntraced(
      function* (state, binding) {
        const [stated, keyId = "", nonceText = "", sealedText = "", ...rest] = state.split(".")
        const key = ring.get(keyId)
        if (stated !== version || key === undefined || rest.length > 0) return yield* invalidState()
        const nonce = decodeUrl(nonceText)
        const sealed = decodeUrl(sealedText)
        if (nonce === undefined || sealed === undefined) return yield* invalidState()
        // Only canonical Base64: else unused bits of the last letter could be changed unnoticed.
        if (encodeUrl(nonce) !== nonceText || encodeUrl(sealed) !== sealedText) return yield* invalidState()
        const opened = yield* aead.decrypt(key, sealed, { nonce, aad: associated(keyId, binding) })
        const payload = yield* decodePayload(yield* Effect.try(() => JSON.parse(decoder.decode(opened))))
        return payload.expires > (yield* Clock.currentTimeMillis) ? payload : yield* invalidState()
      },
      (effect) => Effect.mapError(effect, invalidState)
    )
  })
})

const crypto = Layer.provideMerge(Aead.layerWebCrypto, SecureRandom.layerWebCrypto)

const withCrypto = <A, E>(effect: Effect.Effect<A, E, Aead.Aead | SecureRandom.SecureRandom>): Effect.Effect<A, E> =>
  Effect.provide(effect, crypto)

const plain = ({ id, key }: SealingKey): Key => ({ id, bytes: Redacted.value(key) })

export const ofKeys = (
  [first, ...others]: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options
): Effect.Effect<StateSeal["Service"]> => withCrypto(make([plain(first), ...others.map(plain)], options))

const makeRandom = Effect.fnUntraced(function* (options: Options) {
  const random = yield* SecureRandom.SecureRandom
  const bytes = yield* Effect.orDie(random.randomBytes(Aead.aes256Gcm.keyLength))
  return yield* make([{ id: "process", bytes }], options)
})

export const ofRandomKey = (options: Options): Effect.Effect<StateSeal["Service"]> => withCrypto(makeRandom(options))

/** With a key of this process, made by the first that runs it. */
export const shared = (): Effect.Effect<StateSeal["Service"]> => {
  let made: Fiber.Fiber<StateSeal["Service"]> | undefined
  // Its own fiber: a request that is interrupted meanwhile takes it from no other.
  return Effect.suspend(() => Fiber.join((made ??= Effect.runFork(ofRandomKey({})))))
}
