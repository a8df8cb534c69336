const encoder = new TextEncoder()

/** Encodes a text as UTF-8. `Buffer.from` is a quarter faster than `TextEncoder`, and more for large texts. */
export const bytesOf = (text: string): Uint8Array =>
  typeof Buffer === "undefined" ? encoder.encode(text) : Buffer.from(text)

/** Returns the length of a text in UTF-8 bytes. */
export const byteLengthOf = (text: string): number =>
  typeof Buffer === "undefined" ? encoder.encode(text).length : Buffer.byteLength(text)
