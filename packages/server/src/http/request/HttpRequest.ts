/** An HTTP request as the endpoint sees it, whether it came from Effect's router or from `node:http`. */
import { anonymous, callerKey, type Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import type * as Tracer from "effect/Tracer"

export interface HttpRequest {
  /** HTTP method, in upper case. */
  readonly method: string
  /** Headers by lower-case name. */
  readonly headers: Headers
  /** The path and query, or the entire URL if the request has no `host` header. */
  readonly originalUrl: string
  /** The authenticated user, or `undefined` if anonymous. */
  readonly principal: Principal["Service"] | undefined
  /** Address of the client or of the proxy in front of it, or `undefined` if the platform doesn't report it. */
  readonly address: string | undefined
  /** The span that the request belongs to, if there is a tracer. */
  readonly span: Tracer.AnySpan | undefined
}

/** The header that names the request's session. */
export const sessionIdHeader = "mcp-session-id"

export const principalOf = ({ principal }: HttpRequest): Principal["Service"] => principal ?? anonymous

/** Returns a key for the principal, or an empty string if anonymous. */
export const ownerOf = (http: HttpRequest): string => callerKey(principalOf(http)) ?? ""

/** Returns a key for the principal, or else for the address. Empty if neither is known. */
export const callerOf = (http: HttpRequest): string => callerKey(principalOf(http), http.address) ?? ""
