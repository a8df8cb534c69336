/**
 * The authenticated user of a request. Every request has one; without authorization it is `anonymous`.
 *
 * Owns identity only: middleware and `visible` decide what a principal may do.
 */
import * as Context from "effect/Context"

/**
 * The user of the running request. `Auth` of the auth package provides it from a verified token.
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
    /** A stable name of the user, unique within its issuer; undefined for an anonymous one. */
    readonly subject: string | undefined
    /** The OAuth scopes of the token. */
    readonly scopes: ReadonlyArray<string>
    /** Further claims of the token. */
    readonly claims: { readonly [claim: string]: unknown }
  }
>()("@effect-mcp/core/Principal") {}

/** The principal of a request without authorization. */
export const anonymous: Principal["Service"] = { subject: undefined, scopes: [], claims: {} }

/** The eight groups of an IPv6 address as numbers, or `undefined` if the text is not one. */
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
 * The network to count an address by. One host may use any address below the first 64 bits of its IPv6 address, so those bits count. An
 * IPv4 address counts whole, also when an IPv6 address maps it. Any other text, such as the name a proxy reports, stays as it is.
 */
const networkOf = (address: string): string => {
  if (!address.includes(":")) return address
  // A listener for both families reports every IPv4 address like this.
  const plain = address.startsWith(mapped) ? address.slice(mapped.length) : ""
  if (/^[\d.]+$/.test(plain)) return plain
  // Without the brackets, port and zone that a proxy may add.
  const groups = groupsOf(/^\[?([^[\]%]*)(%[^\]]*)?(\](:\d+)?)?$/.exec(address)?.[1] ?? "")
  if (groups === undefined) return address
  const [a = 0, b = 0, c = 0, d = 0, e, f, g = 0, h = 0] = groups
  if (a + b + c + d === 0 && e === 0 && f === 0xffff) return [g >> 8, g & 255, h >> 8, h & 255].join(".")
  return `${[a, b, c, d].map((group) => group.toString(16)).join(":")}::/64`
}

/**
 * The key to count a caller by: its principal (issuer and subject), or else its address, of IPv6 the first 64 bits. `undefined` if neither
 * is known. The key of a principal starts with `[`. The key of an address never does, whatever a proxy reports.
 */
export const callerKey = ({ claims, subject }: Principal["Service"], address?: string): string | undefined => {
  if (subject !== undefined) return JSON.stringify([claims["iss"] ?? null, subject])
  const network = address === undefined ? undefined : networkOf(address)
  return network?.startsWith("[") === true ? `address ${network}` : network
}
