/**
 * Base64 of short bytes. Not Effect's module: Schema names that too, so that a bundle of a server has it at its start, where only headers
 * and sealed states need it.
 */

// Of every platform; this package has no types of one.
declare const btoa: (bytes: string) => string
declare const atob: (text: string) => string
declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array<ArrayBuffer> }
declare const TextDecoder: new () => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Canonical, with padding. */
export const encode = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))

/** Undefined for what no Base64 is; what is not canonical does not encode to the same text again. */
export const decode = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (byte: string) => byte.charCodeAt(0))
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
