/**
 * Base64 for small amounts of data. Doesn't use Effect's module, because Schema imports it too. A server bundle would then load it on
 * startup, although only headers and sealed states need it.
 */

// Available on every platform; this package doesn't include platform types.
declare const atob: (text: string) => string
declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array<ArrayBuffer> }
declare const TextDecoder: new () => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const letters = encoder.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
const padding = 61

/**
 * Encodes as canonical base64 with padding. Doesn't use `btoa`, which needs a string with one character per byte and takes three times as
 * long.
 */
export const encode = (bytes: Uint8Array): string => {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(padding)
  for (let at = 0; at * 3 < bytes.length * 4; at++) {
    const i = (at >> 2) * 3
    const bits = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text[at] = letters[(bits >> (18 - (at & 3) * 6)) & 63] ?? padding
  }
  return decoder.decode(text)
}

/** Decodes base64. Returns `undefined` for invalid input. Non-canonical input is accepted, but doesn't encode to the same text again. */
export const decode = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    const plain = atob(text)
    // Not `Uint8Array.from`, which creates a string per byte, because a client decides how long a sealed state is.
    const bytes = new Uint8Array(plain.length)
    for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i)
    return bytes
  } catch {
    return undefined
  }
}

/** Encodes a string's UTF-8 bytes as base64. */
export const encodeText = (text: string): string => encode(encoder.encode(text))

/** Decodes base64 to a string. Drops a leading byte order mark. */
export const decodeText = (text: string): string | undefined => {
  const bytes = decode(text)
  return bytes && decoder.decode(bytes)
}

/** Encodes with the URL-safe alphabet and without padding. */
export const encodeUrl = (bytes: Uint8Array): string =>
  encode(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** Decodes the output of `encodeUrl`. */
export const decodeUrl = (text: string): Uint8Array<ArrayBuffer> | undefined =>
  decode(text.replaceAll("-", "+").replaceAll("_", "/"))
