/** What a file is, by its name and its bytes: text that can be searched and read to a model, or something else. */

const types: { readonly [extension: string]: string } = {
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
  wasm: "application/wasm",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip"
}

/** The type that the name promises, if it promises one. */
export const typeOf = (path: string): string | undefined => {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase()
  return extension !== undefined && Object.hasOwn(types, extension) ? types[extension] : undefined
}

/** The text of a file, unless it is binary: valid UTF-8 without NUL. */
export const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
