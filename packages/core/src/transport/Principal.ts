/**
 * Who sent a request. Every request has one; without authorization it is `anonymous`.
 *
 * Owns identity only: what a principal may do is middleware's and visibility's matter.
 */
import * as Context from "effect/Context"

export class Principal extends Context.Service<
  Principal,
  {
    /** A stable name of the caller within its issuer; undefined for an anonymous one. */
    readonly subject: string | undefined
    readonly scopes: ReadonlyArray<string>
    /** Whatever else the verifier learned (token claims). */
    readonly claims: { readonly [claim: string]: unknown }
  }
>()("@effect-mcp/core/Principal") {}

export const anonymous: Principal["Service"] = { subject: undefined, scopes: [], claims: {} }

/**
 * One text per caller, for tables by caller: the principal, whose subject is unique within its issuer only, or else its address.
 * Undefined where neither is known. The text of a principal begins with `[`; that of an address never does, whatever a proxy reports.
 */
export const callerKey = ({ claims, subject }: Principal["Service"], address?: string): string | undefined => {
  if (subject !== undefined) return JSON.stringify([claims["iss"] ?? null, subject])
  return address?.startsWith("[") === true ? `address ${address}` : address
}
