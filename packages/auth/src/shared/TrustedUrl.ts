/**
 * Checks URLs that a client sends requests to, opens in a browser or is redirected to.
 *
 * Applies the rules of OAuth 2.1 section 1.5 and of MCP: HTTPS everywhere, plain HTTP on the loopback interface only. URLs in metadata and
 * challenges must not lead from a public server to a private, link-local or loopback address. Host names are not resolved: if a name
 * resolves to a private address, the TLS handshake fails, because the host there has no certificate for that name.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import { parseUrl } from "./url.ts"
import { OAuthError, type Step } from "./OAuthError.ts"

/** True for `localhost`, its subdomains, 127.0.0.0/8 and ::1. */
export const isLoopback = (url: URL): boolean =>
  /^(.+\.)?localhost\.?$/.test(url.hostname) || url.hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(url.hostname)

const privateV4 = (a: number, b: number): boolean =>
  a === 0 ||
  a === 10 ||
  a === 127 ||
  (a === 100 && b >= 64 && b < 128) ||
  (a === 169 && b === 254) ||
  (a === 172 && b >= 16 && b < 32) ||
  (a === 192 && (b === 0 || b === 168)) ||
  (a === 198 && (b === 18 || b === 19)) ||
  a >= 224

/** True if the host is an address literal that the public network does not route. Names are not resolved. */
export const isPrivateAddress = (url: URL): boolean => {
  // `URL` normalizes every spelling of an IPv4 address (octal, hex, one number) to four decimals, and IPv6 addresses to hex groups.
  const v4 = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(url.hostname)
  if (v4 !== null) return privateV4(Number(v4[1]), Number(v4[2]))
  if (!url.hostname.startsWith("[")) return false
  const address = url.hostname.slice(1, -1)
  const mapped =
    /^::(?:ffff:)?([0-9a-f]{1,4}):[0-9a-f]{1,4}$/.exec(address) ?? /^(?:64:ff9b:|2002):([0-9a-f]{1,4}):/.exec(address)
  if (mapped?.[1] !== undefined) {
    const high = Number.parseInt(mapped[1], 16)
    return privateV4(high >> 8, high & 255)
  }
  return address === "::" || address === "::1" || /^f[cd]|^fe[89a-f]|^ff/.test(address)
}

/** The server that supplied the URLs, and whether private addresses are allowed. */
export interface Trust {
  /** The MCP server that the user entered. If it is private or loopback, it may lead to other private addresses. */
  readonly server: URL
  /** Whether to allow private addresses in a public server's metadata. Default false. */
  readonly allowPrivate?: boolean | undefined
}

/** True if requests to the URL cannot be read in transit: HTTPS, or plain HTTP on the loopback interface. */
export const isSecure = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))

/** Parses a URL from another party. Fails unless it is secure and `trust` allows its address. Errors call it `what`. */
export const check = (step: Step, what: string, text: string, trust: Trust): Effect.Effect<URL, OAuthError> => {
  const url = parseUrl(text)
  const refuse = (problem: string, expected: string) =>
    Effect.fail(new OAuthError({ step, problem: `${what} ${problem}`, expected, found: excerpt(text) }))
  if (url === undefined) return refuse("is not a URL", "an absolute URL")
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    return refuse("has a user or a fragment", "a URL without a user and without a fragment")
  if (!isSecure(url)) return refuse("is not secure", "https, or http on the loopback interface")
  const local = isLoopback(url) || isPrivateAddress(url)
  const home = isLoopback(trust.server) || isPrivateAddress(trust.server)
  if (local && !home && trust.allowPrivate !== true)
    return refuse(
      `points from ${trust.server.host} to a private address`,
      "a public address (or allow private ones with `allowPrivate`)"
    )
  return Effect.succeed(url)
}

/** True if a redirect URI may be used: HTTPS, or HTTP on the loopback interface, and without a fragment. */
export const isRedirectUri = (text: string): boolean => {
  const url = parseUrl(text)
  return url !== undefined && url.hash === "" && isSecure(url)
}
