import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/**
 * Returns the first 160 bits of a string's SHA-256 hash, as hex. The strings may come from other parties, so it must not be possible to
 * find two strings with the same digest.
 *
 * Synchronous, unlike Web Crypto, because a handler that waits for a digest would look idle to its round's scheduler.
 */
export const digest = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)).subarray(0, 20))

/** Serializes a value with sorted keys, so that equal JSON values have the same text. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner
  )

/** Returns the task ID to use in logs and views. If the caller is anonymous it is a digest, because the ID itself grants access. */
export const shownId = (id: string, caller: { readonly subject?: string | undefined } | undefined): string =>
  caller?.subject === undefined ? digest(id) : id
