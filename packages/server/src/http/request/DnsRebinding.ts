/**
 * Protects against DNS rebinding (spec: basic/transports/streamable-http, security), in which an attacker's domain name resolves to the
 * server's address, so that the attacker's web page can send it requests.
 *
 * Both headers are checked. `Host` is the name that was used to reach the server, and `Origin` is the page that sent the request. Loopback
 * names are always allowed; all of the server's other names must be listed.
 */

export interface Options {
  /**
   * The server's names besides loopback: `example.com` (any port), `example.com:8443`, or `*` for any name. Requests for other names
   * receive a 403. Default: none.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /**
   * Origins of other sites' pages, such as `https://example.com`, or `*` for any origin. Requests from other origins receive a 403. The
   * server's own origin and loopback origins are always allowed. Default: none.
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
}

interface Place {
  readonly protocol: string
  /** Includes the port, unless it is the default port. */
  readonly host: string
  readonly hostname: string
  readonly origin: string
}

const placeOf = (url: string): Place | undefined => {
  // Rejects a URL with more than an origin, because the parser would drop the rest.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@]+$/i.test(url) || !URL.canParse(url)) return undefined
  const { protocol, host, hostname, origin } = new URL(url)
  return { protocol, host, hostname, origin }
}

const isLoopback = ({ hostname }: Place): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname)

/** Quotes text chosen by the client, and truncates it to the maximum length of a host name. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, 253))

/** Returns why a request with these headers (names in lower case) is rejected, or `undefined` if it is accepted. */
export const check = (
  headers: { readonly [name: string]: string | undefined },
  { allowedHosts = [], allowedOrigins = [] }: Options
): string | undefined => {
  const { host = "", origin } = headers
  const own = placeOf(`http://${host}`)
  const known = own !== undefined && (isLoopback(own) || allowedHosts.some((allowed) => isNamed(own, host, allowed)))
  if (!known) return `The host ${quoted(host)} is not allowed here`
  if (origin === undefined || isAllowed(origin, { allowedOrigins })) return undefined
  const page = placeOf(origin)
  // The default port depends on the page's scheme, because a proxy may have changed the server's.
  const isOwn = page !== undefined && isWeb(page) && placeOf(`${page.protocol}//${host}`)?.host === page.host
  return isOwn ? undefined : `The origin ${quoted(origin)} is not allowed here`
}

/** True if a host has this name, with any port or with the given one, which may be the default port. */
const isNamed = ({ host, hostname }: Place, header: string, name: string): boolean =>
  [host, hostname, header.toLowerCase(), "*"].includes(name.toLowerCase()) ||
  [`${host}:80`, `${host}:443`].includes(name.toLowerCase())

const isWeb = ({ protocol }: Place): boolean => /^https?:$/.test(protocol)

export type AllowedOrigins = Pick<Options, "allowedOrigins">

/** True if pages from this other origin are allowed. */
export const isAllowed = (origin: string, options: AllowedOrigins): boolean => {
  if (options.allowedOrigins?.includes("*") === true) return true
  const page = placeOf(origin)
  return page !== undefined && isWeb(page) && (isLoopback(page) || isListed(origin, options))
}

/** True if this origin is listed by name. */
export const isListed = (origin: string, { allowedOrigins = [] }: AllowedOrigins): boolean => {
  const page = placeOf(origin)
  return (
    page !== undefined &&
    isWeb(page) &&
    allowedOrigins.some((allowed) => placeOf(allowed.replace(/\/$/, ""))?.origin === page.origin)
  )
}
