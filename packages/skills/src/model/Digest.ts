/** Digests of a skill's files. */
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"

/** The format of a digest. */
export const pattern = /^sha256:[0-9a-f]{64}$/

/** Returns the SHA-256 of the bytes: `sha256:` and 64 lowercase hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): Effect.Effect<string> =>
  Effect.promise(async () => {
    // Copied, because Web Crypto rejects bytes in a shared buffer.
    const hash = await globalThis.crypto.subtle.digest("SHA-256", new Uint8Array(bytes))
    return `sha256:${Hex.encode(new Uint8Array(hash))}`
  })

/** Returns the SHA-256 of a text's UTF-8 bytes. */
export const sha256OfText = (text: string): Effect.Effect<string> => sha256(new TextEncoder().encode(text))
