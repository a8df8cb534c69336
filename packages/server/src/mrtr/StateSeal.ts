/**
 * Encrypts the state that a client carries between the rounds of a request (`requestState`), so that only this server can read or change
 * it.
 *
 * Threat model: the client is the attacker. It may modify, truncate, replay or swap states between requests, tools, arguments, principals
 * and servers. AEAD protects the content and order of the payload. The associated data bind it to the principal, revision, method, name and
 * arguments. An expiry time limits replay, and a `ReplayGuard`, if provided, makes each state single-use. Every failure returns the same
 * -32602 error before the handler runs.
 */
import { decodeUrl, encodeUrl } from "@effect-mcp/protocol/internal/base64"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Aead from "effect/crypto/Aead"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { RoundJournal } from "./Journal.ts"

/** A decrypted state: the journal, plus the seal's ID and expiry. */
export interface Opened {
  readonly journal: RoundJournal
  /** Unique ID of this seal. */
  readonly jti: string
  /** Expiry, in milliseconds since the epoch. */
  readonly expires: number
}

/** Seals and opens `requestState`. Opening an invalid state fails with -32602. */
export class StateSeal extends Context.Service<
  StateSeal,
  {
    /** `binding` describes the request that the state belongs to. */
    readonly seal: (journal: RoundJournal, binding: string) => Effect.Effect<string>
    readonly open: (state: string, binding: string) => Effect.Effect<Opened, McpError.McpError>
  }
>()("@effect-mcp/server/StateSeal") {}

export interface Options {
  /** How long a client has to answer. Default 1 hour. */
  readonly timeToLive?: Duration.Input | undefined
}

/** A 32-byte key. Its `id` is sent in plain text, so that keys can be rotated. */
export interface SealingKey {
  readonly id: string
  readonly key: Redacted.Redacted<Uint8Array>
}

/** Returns the same error for any state that this server did not seal for this exact request. */
export const invalidState = (): McpError.McpError => McpError.invalidParams("Invalid or expired requestState")

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
    // The id is delimited by dots.
    if (!/^[A-Za-z0-9_-]+$/.test(id))
      return yield* Effect.die(new Error(`Invalid key id ${id}. Use only A-Z, a-z, 0-9, "_" and "-"`))
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
        if (key === undefined) return yield* Effect.die(new Error("The sealing key is no longer available"))
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
        // Accepts only canonical Base64, because otherwise unused bits of the last character could be changed unnoticed.
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

const ofKeys = (
  [first, ...others]: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options
): Effect.Effect<StateSeal["Service"]> => withCrypto(make([plain(first), ...others.map(plain)], options))

const makeRandom = Effect.fnUntraced(function* (options: Options) {
  const random = yield* SecureRandom.SecureRandom
  const bytes = yield* Effect.orDie(random.randomBytes(Aead.aes256Gcm.keyLength))
  return yield* make([{ id: "process", bytes }], options)
})

const ofRandomKey = (options: Options): Effect.Effect<StateSeal["Service"]> => withCrypto(makeRandom(options))

/** Uses a key for this process, created on the first run. */
export const shared = (): Effect.Effect<StateSeal["Service"]> => {
  let made: Fiber.Fiber<StateSeal["Service"]> | undefined
  // Runs in a separate fiber, so that interrupting one request does not take the key from the others.
  return Effect.suspend(() => Fiber.join((made ??= Effect.runFork(ofRandomKey({})))))
}

/**
 * Seals with the first key and opens with any of them. To rotate keys, put the new key first, and remove an old one once its states have
 * expired. Nodes that serve the same client must share keys. Each key must be 32 bytes. An `id` may only contain A-Z a-z 0-9 _ -; anything
 * else is a defect.
 *
 * @example
 * ```ts
 * import { McpServer, StateSeal } from "@effect-mcp/server"
 * import { Layer, Redacted } from "effect"
 *
 * // In production, read the key from the secrets of the deployment. It must be the same on every node.
 * const key = Redacted.make(crypto.getRandomValues(new Uint8Array(32)))
 * const seal = StateSeal.layer([{ id: "2026-01", key }], { timeToLive: "10 minutes" })
 *
 * export const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(seal)
 * )
 * ```
 */
export const layer = (
  keys: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options = {}
): Layer.Layer<StateSeal> => Layer.effect(StateSeal, ofKeys(keys, options))

/**
 * Uses a random key for this process, which is the server's default. States become invalid after a restart, and other nodes can't open
 * them.
 */
export const layerRandom = (options: Options = {}): Layer.Layer<StateSeal> =>
  Layer.effect(StateSeal, ofRandomKey(options))
