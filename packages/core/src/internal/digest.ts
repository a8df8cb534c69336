import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/**
 * First 160 bits of the SHA-256 of a text, as hex. Stands for texts that other parties may choose, so no two texts may share a digest.
 *
 * Synchronous, unlike Web Crypto: a handler that waits for a digest would look idle to the scheduler of its round.
 */
export const digest = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)).subarray(0, 20))
