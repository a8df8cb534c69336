/**
 * Base64 of short bytes. Not Effect's module: Schema names that too, so that a bundle of a server has it at its start, where only headers
 * and sealed states need it.
 */

// Of every platform; this package has no types of one.
declare const atob: (text: string) => string
declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array<ArrayBuffer> }
declare const TextDecoder: new () => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const letters = encoder.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
const padding = 61

/** Canonical, with padding. Not `btoa`: it needs a text of one letter for each byte, which takes three times as long to make. */
export const encode = (bytes: Uint8Array): string => {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(padding)
  for (let at = 0; at * 3 < bytes.length * 4; at++) {
    const i = (at >> 2) * 3
    const bits = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text[at] = letters[(bits >> (18 - (at & 3) * 6)) & 63] ?? padding
  }
  return decoder.decode(text)
}

/** Undefined for what no Base64 is; what is not canonical does not encode to the same text again. */
export const decode = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    const plain = atob(text)
    // Not `Uint8Array.from`, which makes a string of each byte: a client chooses how long a sealed state is.
    const bytes = new Uint8Array(plain.length)
    for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i)
    return bytes
  } catch {
    return undefined
  }
}

/** The Base64 of a text's UTF-8. */
export const encodeText = (text: string): string => encode(encoder.encode(text))

/** The text, without a byte order mark at its start. */
export const decodeText = (text: string): string | undefined => {
  const bytes = decode(text)
  return bytes && decoder.decode(bytes)
}

/** With the letters of URLs, without padding. */
export const encodeUrl = (bytes: Uint8Array): string =>
  encode(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** What `encodeUrl` has made. */
export const decodeUrl = (text: string): Uint8Array<ArrayBuffer> | undefined =>
  decode(text.replaceAll("-", "+").replaceAll("_", "/"))
