/** Determines a file's media type, and whether it is text or binary, from its name and bytes. */
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Base64 from "effect/encoding/Base64"

/** Media types by extension. */
export type Types = { readonly [extension: string]: string }

const usual: Types = {
  css: "text/css",
  csv: "text/csv",
  gif: "image/gif",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  md: "text/markdown",
  mjs: "text/javascript",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  ts: "text/typescript",
  tsx: "text/typescript",
  txt: "text/plain",
  wasm: "application/wasm",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip"
}

/** Returns the extension's media type, if known. */
export const typeOf = (path: string, own: Types = {}): string | undefined => {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase()
  if (extension === undefined) return undefined
  const types = Object.hasOwn(own, extension) ? own : usual
  return Object.hasOwn(types, extension) ? types[extension] : undefined
}

/** Returns a file's text (valid UTF-8 without NUL), or `undefined` if the file is binary. */
export const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Converts a file to resource contents: text, or base64. */
export const contentsOf = (uri: string, path: string, bytes: Uint8Array, own?: Types): ResourceContents => {
  const text = textOf(bytes)
  const type = typeOf(path, own)
  return text === undefined
    ? Validate.checked({ uri, mimeType: type ?? "application/octet-stream", blob: Base64.encode(bytes) })
    : { uri, mimeType: type ?? "text/plain", text }
}
