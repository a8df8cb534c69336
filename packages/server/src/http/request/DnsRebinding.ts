/**
 * Protection from DNS rebinding (spec: basic/transports/streamable-http, security): a web page must not reach a server through a name
 * that its author made to point here.
 *
 * Both headers are looked at: `Host` says by what name the server was reached, `Origin` which page asks. Loopback names are known
 * without being told; every other name a server goes by has to be.
 */

export interface Options {
  /** Names the server goes by, beside loopback: `example.com` (any port) or `example.com:8443`; `*` for any. Default none. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /** Origins of other sites' pages, as `https://example.com`; `*` for any. Its own pages and those of loopback always may. */
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
  // Anything beyond a place is no host and no origin, however the parser mends it.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@]+$/i.test(url) || !URL.canParse(url)) return undefined
  const { protocol, host, hostname, origin } = new URL(url)
  return { protocol, host, hostname, origin }
}

const isLoopback = ({ hostname }: Place): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname)

/** A stranger's text: quoted, and not longer than a host name may be. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, 253))

/** Why a request with these headers (names in lower case) is refused; `undefined` if it is not. */
export const check = (
  headers: { readonly [name: string]: string | undefined },
  { allowedHosts = [], allowedOrigins = [] }: Options
): string | undefined => {
  const { host = "", origin } = headers
  const own = placeOf(`http://${host}`)
  const known = own !== undefined && (isLoopback(own) || allowedHosts.some((allowed) => isNamed(own, host, allowed)))
  if (!known) return `The host ${quoted(host)} is not allowed here`
  if (origin === undefined || isWelcome(origin, { allowedOrigins })) return undefined
  const page = placeOf(origin)
  // The default port depends on the scheme, which a proxy in front may have changed: it is compared by the page's.
  const isOwn = page !== undefined && isWeb(page) && placeOf(`${page.protocol}//${host}`)?.host === page.host
  return isOwn ? undefined : `The origin ${quoted(origin)} is not allowed here`
}

/** Whether a host goes by that name: with any port, or with the very port, said or not. */
const isNamed = ({ host, hostname }: Place, said: string, name: string): boolean =>
  [host, hostname, said.toLowerCase(), "*"].includes(name.toLowerCase()) ||
  [`${host}:80`, `${host}:443`].includes(name.toLowerCase())

const isWeb = ({ protocol }: Place): boolean => /^https?:$/.test(protocol)

type Welcome = Pick<Options, "allowedOrigins">

/** Whether pages of that origin may ask although they are another site's. */
export const isWelcome = (origin: string, welcome: Welcome): boolean => {
  if (welcome.allowedOrigins?.includes("*") === true) return true
  const page = placeOf(origin)
  return page !== undefined && isWeb(page) && (isLoopback(page) || isListed(origin, welcome))
}

/** Whether that origin is one of those that are allowed by name. */
export const isListed = (origin: string, { allowedOrigins = [] }: Welcome): boolean => {
  const page = placeOf(origin)
  return (
    page !== undefined &&
    isWeb(page) &&
    allowedOrigins.some((allowed) => placeOf(allowed.replace(/\/$/, ""))?.origin === page.origin)
  )
}
