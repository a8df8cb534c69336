/**
 * Protection from DNS rebinding (spec: basic/transports/streamable-http, security): a web page must not reach a server through a name
 * that its author made to point to it.
 *
 * Both headers are checked: `Host` is the name by which the server was reached, `Origin` the page that asks. Loopback names are always
 * allowed; every other name of the server has to be listed.
 */

export interface Options {
  /** Names of the server beside loopback: `example.com` (any port) or `example.com:8443`; `*` for any. Default none; others get 403. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /**
   * Origins of pages of other sites, as `https://example.com`; `*` for any. Default none; others get 403. The server's own origin and
   * those of loopback are always allowed.
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
}

interface Place {
  readonly protocol: string
  /** With the port, where it is not the default one. */
  readonly host: string
  readonly hostname: string
  readonly origin: string
}

const placeOf = (url: string): Place | undefined => {
  // A URL with more than an origin is refused: the parser would drop the rest.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@]+$/i.test(url) || !URL.canParse(url)) return undefined
  const { protocol, host, hostname, origin } = new URL(url)
  return { protocol, host, hostname, origin }
}

const isLoopback = ({ hostname }: Place): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname)

/** The text of a client: quoted, and at most as long as a host name may be. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, 253))

/** Why a request with these headers (names in lower case) is refused; undefined for one that is admitted. */
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
  // The default port is that of the page's scheme: a proxy may have changed the server's.
  const isOwn = page !== undefined && isWeb(page) && placeOf(`${page.protocol}//${host}`)?.host === page.host
  return isOwn ? undefined : `The origin ${quoted(origin)} is not allowed here`
}

/** Whether a host has that name: with any port, or with the named one, which may be the default port. */
const isNamed = ({ host, hostname }: Place, header: string, name: string): boolean =>
  [host, hostname, header.toLowerCase(), "*"].includes(name.toLowerCase()) ||
  [`${host}:80`, `${host}:443`].includes(name.toLowerCase())

const isWeb = ({ protocol }: Place): boolean => /^https?:$/.test(protocol)

type AllowedOrigins = Pick<Options, "allowedOrigins">

/** Whether pages of that origin, of another site, are allowed. */
export const isAllowed = (origin: string, options: AllowedOrigins): boolean => {
  if (options.allowedOrigins?.includes("*") === true) return true
  const page = placeOf(origin)
  return page !== undefined && isWeb(page) && (isLoopback(page) || isListed(origin, options))
}

/** Whether that origin is listed by name. */
export const isListed = (origin: string, { allowedOrigins = [] }: AllowedOrigins): boolean => {
  const page = placeOf(origin)
  return (
    page !== undefined &&
    isWeb(page) &&
    allowedOrigins.some((allowed) => placeOf(allowed.replace(/\/$/, ""))?.origin === page.origin)
  )
}
