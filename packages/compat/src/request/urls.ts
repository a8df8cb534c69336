/** The URL of a request on `node:http`. */

/** Returns `undefined` if host or path cannot be part of a URL. `//a` is a path, not the host `a`. */
export const urlOf = (path = "/", host = "localhost"): URL | undefined => {
  const text = path.startsWith("/") ? `http://${host}${path}` : path
  return URL.canParse(text) ? new URL(text) : undefined
}
