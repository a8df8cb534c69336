/** Hashes and random texts of the flow, in base64url. */
import * as Digest from "effect/crypto/Digest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

const encoder = new TextEncoder()

/** SHA-256 of the text's UTF-8 bytes. */
export const sha256 = (text: string): Effect.Effect<string> =>
  Digest.Digest.use((digest) => Effect.map(digest.digest(Digest.sha256, encoder.encode(text)), Base64Url.encode)).pipe(
    Effect.provide(Digest.layerWebCrypto)
  )

/** 32 random bytes: 43 characters, which no one guesses. */
export const random: Effect.Effect<string> = Effect.sync(() => Base64Url.encode(SecureRandom.randomBytesUnsafe(32)))
