/** The URL of a request on `node:http`. */

/** Undefined for a host or a path that no URL has. `//a` is a path, and not the host `a`. */
export const urlOf = (path = "/", host = "localhost"): URL | undefined => {
  const text = path.startsWith("/") ? `http://${host}${path}` : path
  return URL.canParse(text) ? new URL(text) : undefined
}
