/**
 * The authenticated user behind a request. Every request has a principal; without authorization it is `anonymous`.
 *
 * A principal only identifies the user. Middleware and `visible` decide what the user may do.
 */
import * as Context from "effect/Context"

/**
 * The user who sent the current request. `Auth` in the auth package provides it from a verified token.
 *
 * @example
 * ```ts
 * import { Principal } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const greeting = Effect.map(Principal.Principal, ({ subject }) => `Hello, ${subject ?? "stranger"}`)
 *
 * // For `visible:` of a tool, prompt or resource.
 * export const isAdmin = ({ scopes }: Principal.Principal["Service"]) => scopes.includes("admin")
 * ```
 */
export class Principal extends Context.Service<
  Principal,
  {
    /** Stable user ID, unique within its issuer, or `undefined` for an anonymous user. */
    readonly subject: string | undefined
    /** The token's OAuth scopes. */
    readonly scopes: ReadonlyArray<string>
    /** Additional token claims. */
    readonly claims: { readonly [claim: string]: unknown }
  }
>()("@effect-mcp/core/Principal") {}

/** The principal of a request without authorization. */
export const anonymous: Principal["Service"] = { subject: undefined, scopes: [], claims: {} }

/** Parses the eight groups of an IPv6 address as numbers. Returns `undefined` for any other string. */
const groupsOf = (address: string): ReadonlyArray<number> | undefined => {
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, ...bytes: ReadonlyArray<string>) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = "", tail, rest] = text.split("::")
  const split = (part: string): ReadonlyArray<string> => (part === "" ? [] : part.split(":"))
  const [front, back] = [split(head), split(tail ?? "")]
  const missing = 8 - front.length - back.length
  if (rest !== undefined || (tail === undefined ? missing !== 0 : missing < 1)) return undefined
  const groups = [...front, ...Array.from({ length: missing }, () => "0"), ...back]
  return groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined
}

const mapped = "::ffff:"

/**
 * Returns the network to count an address under. A single host may use any address in its IPv6 /64 network, so only the first 64 bits
 * count. An IPv4 address counts as a whole, even if it is mapped to IPv6. Any other string, such as a name reported by a proxy, is returned
 * unchanged.
 */
const networkOf = (address: string): string => {
  if (!address.includes(":")) return address
  // A dual-stack listener reports every IPv4 address in this form.
  const plain = address.startsWith(mapped) ? address.slice(mapped.length) : ""
  if (/^[\d.]+$/.test(plain)) return plain
  // Strips the brackets, port and zone that a proxy may add.
  const groups = groupsOf(/^\[?([^[\]%]*)(%[^\]]*)?(\](:\d+)?)?$/.exec(address)?.[1] ?? "")
  if (groups === undefined) return address
  const [a = 0, b = 0, c = 0, d = 0, e, f, g = 0, h = 0] = groups
  if (a + b + c + d === 0 && e === 0 && f === 0xffff) return [g >> 8, g & 255, h >> 8, h & 255].join(".")
  return `${[a, b, c, d].map((group) => group.toString(16)).join(":")}::/64`
}

/**
 * Returns the key under which to count a caller: its principal (issuer and subject), or else its address (the first 64 bits for IPv6).
 * Returns `undefined` if neither is known. A principal's key starts with `[`. An address's key never does, regardless of what a proxy
 * reports.
 */
export const callerKey = ({ claims, subject }: Principal["Service"], address?: string): string | undefined => {
  if (subject !== undefined) return JSON.stringify([claims["iss"] ?? null, subject])
  const network = address === undefined ? undefined : networkOf(address)
  return network?.startsWith("[") === true ? `address ${network}` : network
}
