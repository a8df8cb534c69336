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
