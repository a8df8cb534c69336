/**
 * Seals what a client carries between the rounds of a request (`requestState`), so that only this server can read or change it.
 *
 * Threat model: the client is the attacker. It may alter, truncate, replay, swap between requests, tools, arguments, principals and
 * servers. AEAD covers content and order of the payload; the associated data bind it to principal, revision, method, name and
 * arguments; an expiry bounds replay; `ReplayGuard` makes it single-use where it is provided. Every failure is one and the same -32602,
 * before the handler runs.
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

/** An opened state: the journal, and what identifies the sealing. */
export interface Opened {
  readonly journal: RoundJournal
  /** Unique per sealing. */
  readonly jti: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Seals and opens `requestState`. A state that does not open fails with -32602. */
export class StateSeal extends Context.Service<
  StateSeal,
  {
    /** `binding` is the text of the request that the state belongs to. */
    readonly seal: (journal: RoundJournal, binding: string) => Effect.Effect<string>
    readonly open: (state: string, binding: string) => Effect.Effect<Opened, McpError.McpError>
  }
>()("@effect-mcp/server/StateSeal") {}

export interface Options {
  /** How long a client may take to answer. Default 1 hour. */
  readonly timeToLive?: Duration.Input | undefined
}

/** A key of 32 bytes. Its `id` travels in the clear, so that keys can be rotated. */
export interface SealingKey {
  readonly id: string
  readonly key: Redacted.Redacted<Uint8Array>
}

/** The one error for every state that this server did not seal for this very request. */
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

/** With a key of this process, made by the first that runs it. */
export const shared = (): Effect.Effect<StateSeal["Service"]> => {
  let made: Fiber.Fiber<StateSeal["Service"]> | undefined
  // Its own fiber: a request that is interrupted meanwhile takes it from no other.
  return Effect.suspend(() => Fiber.join((made ??= Effect.runFork(ofRandomKey({})))))
}

/**
 * Seals with the first key and opens with any: put a new key first to rotate, and drop an old one when its states have expired. Nodes that
 * serve one client share their keys. A key has 32 bytes; an `id` with other characters than A-Z a-z 0-9 _ - is a defect.
 *
 * @example
 * ```ts
 * import { McpServer, StateSeal } from "@effect-mcp/server"
 * import { Layer, Redacted } from "effect"
 *
 * // In production it comes from the secrets of the deployment, the same for every node.
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

/** A key of this process, the default of a server: a state is invalid after a restart and at another node. */
export const layerRandom = (options: Options = {}): Layer.Layer<StateSeal> =>
  Layer.effect(StateSeal, ofRandomKey(options))
