/** Origins in a view's policy. A malformed entry could add other directives to a policy, so it is rejected. */
import type { Csp } from "./UiExtension.ts"

const host = String.raw`(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+`
const loopback = String.raw`localhost|127\.0\.0\.1|\[::1\]`
const port = String.raw`(?::(?:\d{1,5}|\*))?`
const pattern = new RegExp(`^(?:(?:https|wss)://(?:${host}|${loopback})|(?:http|ws)://(?:${loopback}))${port}/?$`, "i")

/**
 * True if the text is an origin that a policy may contain: `https:` or `wss:` with a host name, which may start with `*.`, and optionally a
 * port. `http:` and `ws:` are only allowed for this machine.
 */
export const isOrigin = (text: string): boolean => text.length <= 300 && pattern.test(text)

/** A policy's lists, in the same order as in the specification. */
export const lists = ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"] as const

/** Returns the policy entries that are not origins. */
export const malformed = (csp: Csp): ReadonlyArray<string> =>
  lists.flatMap((list) => (csp[list] ?? []).filter((origin) => !isOrigin(origin)))

/**
 * Addresses of this machine, of private networks and of link-local services, such as a cloud's metadata. Includes the range that carriers
 * and virtual private networks use (100.64.0.0/10), networks for tests (198.18.0.0/15) and multicast.
 */
const localAddress =
  /^(?:0|10|127|22[4-9]|2[3-5]\d)\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^192\.(?:168|0\.0)\.|^198\.1[89]\./

/** Top-level names that are reserved for private networks, or that routers commonly use. */
const localName = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|home\.arpa)$/

/**
 * True if an origin is on this machine or in a private network, by its name or address. A public name with a private address is not found.
 * Browsers read addresses such as `127.1` and `0x7f.1`, too. Some compare a wildcard with the end of an address, so that `*.1.1` stands for
 * `192.168.1.1`.
 */
export const isLocal = (origin: string): boolean => {
  const plain = origin.replace("://*.", "://").replace(/:\*\/?$/, "")
  if (!URL.canParse(plain)) return true
  const { hostname } = new URL(plain)
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
  if (isAddress) return origin.includes("://*.") || localAddress.test(hostname)
  return hostname.startsWith("[") || localName.test(hostname)
}

/** Returns a policy's local origins, each once. */
export const localOrigins = (csp: Csp): ReadonlyArray<string> => [
  ...new Set(lists.flatMap((list) => (csp[list] ?? []).filter((origin) => isOrigin(origin) && isLocal(origin))))
]

/** Returns the policy without local origins. */
export const withoutLocal = (csp: Csp): Csp =>
  Object.fromEntries(
    lists.flatMap((list) => (csp[list] === undefined ? [] : [[list, csp[list].filter((origin) => !isLocal(origin))]]))
  )
