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

/**
 * The key of a caller in tables: the principal (issuer and subject), or else the address. Undefined where neither is known. A principal's
 * key begins with `[`; an address's never does, whatever a proxy reports.
 */
export const callerKey = ({ claims, subject }: Principal["Service"], address?: string): string | undefined => {
  if (subject !== undefined) return JSON.stringify([claims["iss"] ?? null, subject])
  return address?.startsWith("[") === true ? `address ${address}` : address
}
