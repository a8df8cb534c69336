const encoder = new TextEncoder()

/** A text as UTF-8. `Buffer.from` is a quarter faster than `TextEncoder`, and more for large texts. */
export const bytesOf = (text: string): Uint8Array =>
  typeof Buffer === "undefined" ? encoder.encode(text) : Buffer.from(text)

/** How many bytes a text is as UTF-8. */
export const byteLengthOf = (text: string): number =>
  typeof Buffer === "undefined" ? encoder.encode(text).length : Buffer.byteLength(text)
