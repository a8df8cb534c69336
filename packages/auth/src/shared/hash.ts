/** Hashes and random strings in base64url, and the form encoding of secrets. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

const encoder = new TextEncoder()

/** Returns the SHA-256 hash of the text's UTF-8 bytes. */
export const sha256Bytes = (text: string): Effect.Effect<Uint8Array> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", encoder.encode(text))),
    (bytes) => new Uint8Array(bytes)
  )

/** Like `sha256Bytes`, in base64url. */
export const sha256 = (text: string): Effect.Effect<string> => Effect.map(sha256Bytes(text), Base64Url.encode)

/** Returns 32 random bytes as 43 characters of base64url. */
export const randomUnsafe = (): string => Base64Url.encode(SecureRandom.randomBytesUnsafe(32))

/** Like `randomUnsafe`, as an Effect. */
export const random: Effect.Effect<string> = Effect.sync(randomUnsafe)

/** Encodes text as `application/x-www-form-urlencoded`, which RFC 6749 section 2.3.1 requires for both parts of HTTP Basic. */
export const formEncoded = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2)
